import DispatchStore
import DispatchStoreTesting
import Testing

/// What runs on threads of a world that stand for others.
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

  @Test func anObserverHearsOnTheWorldsMainQueue() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let heard = SimulatedReference(Heard())
      let token = notes.observe(on: .main) { change in heard.object?.add(change.version) }
      notes.inject(model: Notes(numbers: [1]))
      _ = await dispatcher.dispatch(action: Note.add(2), mode: .mainThread).result
      while heard.object?.versions.count != 2 { await Task.yield() }
      token.cancel()
      let versions = heard.object?.versions
      try check(versions == [1, 2], "heard \(versions ?? [])")
    }
  }

  private final class Heard: @unchecked Sendable {  // because one thread of a world runs at a time
    private(set) var versions: [UInt64] = []
    func add(_ version: UInt64) { versions.append(version) }
  }
}
