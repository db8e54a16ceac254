import Dispatch
import DispatchStore
import DispatchStoreTesting
import Testing

/// Threads of a world that stand for the system's main queue and executors.
@Suite("Places of a simulation")
struct SimulatedPlacesTests {
  @Test func aTaskOfASyncDispatchMaySleepOnTheWorldsClock() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      let notes = dispatcher.register(
        store: Store(identifier: "notes", reducer: SleepingReducer(for: .seconds(1))))
      await withTaskGroup { group in
        for number in 1...3 {
          group.addTask { _ = dispatcher.dispatch(action: Note.add(number), mode: .sync) }
        }
      }
      let numbers = notes.model.numbers.sorted()
      try check(numbers == [1, 2, 3], "\(numbers)")
    }
  }

  @Test func anObserverIsNotifiedOnTheWorldsMainQueue() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let notified = Versions()
      let token = notes.observe(.part(\.numbers), on: .main) { change in
        notified.add(change.version)
      }
      notes.inject(model: Notes(numbers: [1]))
      _ = await dispatcher.dispatch(action: Note.add(2), mode: .mainThread).result
      while notified.versions.count != 2 { await Task.yield() }
      token.cancel()
      try check(notified.versions == [1, 2], "notified \(notified.versions)")
    }
  }

  /// Of two stores, of which each would call its own beside the other's.
  @Test(arguments: [false, true])
  func observersOnOneSerialQueueAreCalledOneAfterTheOther(isMain: Bool) async throws {
    try await explore(seeds: 0..<500) { dispatcher in
      let queue = isMain ? DispatchQueue.main : DispatchQueue(label: "observers")
      let visits = Visits()
      dispatcher.register(
        store: Store(identifier: "aside", model: Notes()) {
          On(Aside.self) { notes, _ in notes.numbers.append(0) }
        })
      let visit: @Sendable () -> Void = {
        visits.begin()
        dispatcher.dispatch(Aside(), mode: .async)
        visits.end()
      }
      let (first, second) = (dispatcher.makeNotes("first"), dispatcher.makeNotes("second"))
      var tokens = [first.observe(.part(\.numbers), on: .queue(queue)) { _ in visit() }]
      if isMain {
        tokens.append(second.observe(.part(\.numbers), on: .main) { _ in visit() })
      } else {
        tokens.append(second.observe(.part(\.numbers), on: .queue(queue)) { _ in visit() })
      }
      for number in 1...2 { _ = await dispatcher.dispatch(action: Note.add(number)).result }
      while visits.count < 4 { await Task.yield() }
      for token in tokens { token.cancel() }
      try check(visits.most == 1, "\(visits.most) observers were called at once")
    }
  }

  private struct Aside: ActionType {}

  private final class Visits: @unchecked Sendable {  // because a world runs one thread at a time
    private var present = 0
    private(set) var (most, count) = (0, 0)

    func begin() {
      present += 1
      most = max(most, present)
    }

    func end() {
      present -= 1
      count += 1
    }
  }

  private final class Versions: @unchecked Sendable {  // because a world runs one thread at a time
    private(set) var versions: [UInt64] = []
    func add(_ version: UInt64) { versions.append(version) }
  }
}
