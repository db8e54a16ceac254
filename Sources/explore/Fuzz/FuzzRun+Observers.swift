import Dispatch
import DispatchStore

extension FuzzRun {
  /// Registers an observer of the program.
  func observe(_ place: Int) {
    let plan = program.observers[place]
    guard let store = store(plan.store) else { return }
    let token: ObserverToken
    switch plan.kind {
    case .inline:
      token = store.observe(.model) { self.called(place, [$0.version], $0.value.count) }
    case .projection:
      token = store.observe(.part(\.count)) { self.called(place, [$0.version], $0.value) }
    case .queue:
      token = store.observe(.model, on: .queue(observerQueue)) { change in
        self.called(place, change.commits.map(\.version), nil)
        let count = change.value.count
        let last = Int(change.version)
        self.check(count >= last, "o\(place): model \(count) after version \(last)")
      }
    case .queuedProjection:
      token = store.observe(.part(\.count), on: .queue(observerQueue)) {
        self.called(place, [$0.version], $0.value)
      }
    case .main:
      token = store.observe(.part(\.count), on: .main) {
        self.called(place, [$0.version], $0.value)
      }
    }
    present.with { $0.tokens.append(token) }
  }

  /// The queue of one more observer on a queue.
  private var observerQueue: DispatchQueue {
    program.sharesObserverQueue ? sharedQueue : DispatchQueue(label: "fuzz")
  }

  private func check(_ isKept: Bool, _ fault: @autoclosure () -> String) {
    if !isKept { log.fail(fault()) }
  }

  /// - Parameter count: The count of commits in the model; nil if that may be of a later version.
  private func called(_ place: Int, _ versions: [UInt64], _ count: Int?) {
    beginActivity()
    defer { endActivity() }
    beginTurn(of: place)
    defer { endTurn(of: place) }
    for version in versions {
      log.note(.observed(place), store: program.observers[place].store, version: Int(version))
    }
    let last = Int(versions.last ?? 0)
    if let count { check(count == last, "o\(place): model \(count) with version \(last)") }
    let call = present.with { present -> Int in
      guard present.observerCalls.indices.contains(place) else { return -1 }
      defer { present.observerCalls[place] += 1 }
      return present.observerCalls[place]
    }
    if let body = program.observers[place].calls[call] { try? run(body) }
    present.with { $0.observed[place] = max($0.observed[place], last) }
  }

  /// Notes that an observer is called on a serial queue, on which no other one may run.
  private func beginTurn(of observer: Int) {
    guard let place = program.serialPlace(of: observer) else { return }
    let count = observersAtOnce.with { counts -> Int in
      counts[place, default: 0] += 1
      return counts[place, default: 0]
    }
    check(count == 1, "\(count) observers run at once on \(place)")
  }

  private func endTurn(of observer: Int) {
    guard let place = program.serialPlace(of: observer) else { return }
    observersAtOnce.with { $0[place, default: 0] -= 1 }
  }
}
