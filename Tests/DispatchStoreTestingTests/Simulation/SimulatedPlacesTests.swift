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
      let notified = SimulatedReference(Versions())
      let token = notes.observe(.part(\.numbers), on: .main) { change in
        notified.object?.add(change.version)
      }
      notes.inject(model: Notes(numbers: [1]))
      _ = await dispatcher.dispatch(action: Note.add(2), mode: .mainThread).result
      while notified.object?.versions.count != 2 { await Task.yield() }
      token.cancel()
      let versions = notified.object?.versions
      try check(versions == [1, 2], "notified \(versions ?? [])")
    }
  }

  private final class Versions: @unchecked Sendable {  // because a world runs one thread at a time
    private(set) var versions: [UInt64] = []
    func add(_ version: UInt64) { versions.append(version) }
  }
}
