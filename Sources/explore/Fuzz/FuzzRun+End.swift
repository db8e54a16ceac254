import DispatchStore

extension FuzzRun {
  /// Runs the program to its end; returns what was wrong.
  static func run(_ program: FuzzProgram, on host: any FuzzHost) async throws -> FuzzOutcome {
    try await run(FuzzRun(program, on: host))
  }

  /// Runs a program whose caller may look at the run meanwhile.
  static func run(_ run: FuzzRun) async throws -> FuzzOutcome {
    await run.runRoots()
    guard try await run.settles() else {
      return FuzzOutcome(run, faults: run.log.allFaults + ["not ended: " + run.unended()])
    }
    var outcome = FuzzOutcome(run, faults: run.log.allFaults + FuzzCheck(run).faults())
    let released = run.releaseAll()
    var left = run.host is SimulatedHost ? 3 : 50_000
    while released.contains(where: \.isAlive), left > 0 {
      try await run.host.pause()
      left -= 1
    }
    for dispatcher in released where dispatcher.isAlive {
      outcome.faults.append("dispatcher \(dispatcher.name) was not released")
    }
    return outcome
  }

  /// So many commits of each store no condition exceeds.
  static let mostCommitsForConditions = 3

  /// Commits to the stores of conditions, each time once nothing else can run.
  private func meetConditions(rounds: Int = mostCommitsForConditions) {
    let stores = Set(
      program.dispatches.flatMap(\.controls).compactMap { control in
        if case .when(let store, _) = control { store } else { nil }
      })
    guard !stores.isEmpty, rounds > 0 else { return }
    beginActivity()
    host.startThreadLater {
      for place in stores.sorted() {
        self.startThread { if let store = self.store(place) { self.commit(store, place, nil) } }
      }
      self.meetConditions(rounds: rounds - 1)
      self.endActivity()
    }
  }

  private func runRoots() async {
    meetConditions()
    await withTaskGroup { group in
      for root in program.roots {
        if root.isTask {
          group.addTask { try? await self.runAsync(root.body) }
        } else {
          startThread { try? self.run(root.body) }
        }
      }
    }
  }

  /// Waits until nothing of the program is left to run; false if something never ends.
  private func settles() async throws -> Bool {
    var (last, unchanged) = (-1, 0)
    while true {
      let events = log.allEvents.count
      unchanged = events == last ? unchanged + 1 : 0
      last = events
      // Twice, since an observer of a store that is gone may still be called on its queue.
      if isAtRest, unchanged > 0 {
        if program.effects.contains(where: { $0 != nil }) {
          for (_, handle) in present.now.handles.sorted(by: { $0.key < $1.key }) {
            await handle.settled()
          }
          if !isAtRest || log.allEvents.count != events { continue }
        }
        return true
      }
      // In a simulation nothing can run while the time passes; on threads the watchdog says that it hangs.
      if host is SimulatedHost, unchanged > 3 { return false }
      try await host.pause()
    }
  }

  private var isAtRest: Bool {
    let before = present.now
    guard before.activities == 0, before.handles.values.allSatisfy(Self.isDone),
      haveObserversCaughtUp()
    else { return false }
    let after = present.now
    return after.activities == 0 && after.handles.count == before.handles.count
      && after.handles.values.allSatisfy(Self.isDone)
  }

  /// Whether the dispatch has ended, with its stores.
  ///
  /// If it has a deadline, its completion may come after the end of its stores, or its stores may end after that.
  private static func isDone(_ handle: DispatchHandle) -> Bool { handle.isOver && handle.hasEnded }

  private func haveObserversCaughtUp() -> Bool {
    let present = present.now
    let followersHave = present.followers.allSatisfy { follower in
      guard let store = present.stores[follower.store] else { return true }
      return follower.versions.now.last == Int(store.version)
    }
    return followersHave
      && program.observers.indices.allSatisfy { place in
        guard !present.cancelledObservers.contains(place),
          let store = present.stores[program.observers[place].store]
        else { return true }
        return present.observed[place] >= Int(store.version)
      }
  }

  var unendedDispatches: [Int] {
    present.now.handles.filter { !Self.isDone($0.value) }.keys.sorted()
  }

  /// Lists everything that has not ended, and everything that waits.
  func unended() -> String {
    let (present, waits) = (present.now, waits.now)
    var parts =
      unendedDispatches.map { "#\($0) has not ended" }
      + waits.sorted { $0.key < $1.key }.map(\.value)
    if present.activities > 0 {
      parts.append("\(present.activities) threads or tasks have not ended")
    }
    return parts.isEmpty ? "observers on queues" : parts.joined(separator: "; ")
  }

  private func releaseAll() -> [WeakDispatcher] {
    var former = present.with { present -> Present in
      defer { present = Present(program.observers.count) }
      return present
    }
    for token in former.tokens { token.cancel() }
    for follower in former.followers { follower.cancel() }
    // Releases one after the other what dictionaries would release in the order of hashes.
    for key in former.operations.keys.sorted() { former.operations[key] = nil }
    for key in former.handles.keys.sorted() { former.handles[key] = nil }
    for key in former.groupHandles.keys.sorted() { former.groupHandles[key] = nil }
    return former.dispatchers.map { WeakDispatcher(name: $0.name, dispatcher: $0) }
  }
}

private struct WeakDispatcher {
  let name: String
  weak var dispatcher: Dispatcher?
  var isAlive: Bool { dispatcher != nil }
}

/// How a run of a program went.
struct FuzzOutcome: Sendable {
  let dispatchCount: Int
  let refusalCount: Int
  var faults: [String]

  /// Nil if every promise was kept.
  var fault: String? { faults.isEmpty ? nil : faults.joined(separator: "; ") }

  init(_ run: FuzzRun, faults: [String]) {
    dispatchCount = run.present.now.handles.count
    refusalCount = run.refusals.now
    self.faults = faults
  }
}
