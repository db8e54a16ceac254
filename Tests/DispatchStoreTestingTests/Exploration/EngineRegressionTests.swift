import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// What exploration has found in the engine, each in a scenario that shows it soon.
@Suite("Regressions of the engine")
struct EngineRegressionTests {
  struct Broken: Error, CustomStringConvertible {
    let description: String
  }

  /// A drainer asked whether the queue is suspended, and then took in what was pushed after that.
  @Test(arguments: [Dispatcher.Mode.serial, .async])
  func whatIsDispatchedWhileTheQueueIsSuspendedDoesNotStart(_ mode: Dispatcher.Mode) async throws {
    try await explore(seeds: 0..<3_000) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let first = dispatcher.dispatch(action: Note.add(1), mode: mode)
      // The drainer is still there, perhaps.
      while notes.model.numbers.isEmpty {}
      dispatcher.queue.isSuspended = true
      let second = dispatcher.dispatch(action: Note.add(2), mode: mode)
      for _ in 0..<4 where notes.model.numbers.contains(2) {
        throw Broken(description: "it started: \(notes.model.numbers)")
      }
      dispatcher.queue.isSuspended = false
      _ = await (first.result, second.result)
    }
  }

  /// The thread that told a commit of a nested `.sync` was about to close its dispatch: waiting for that
  /// was taken for a teller that waits, and those who waited for its turn ended untold.
  @Test func aTellerDoesNotWaitForTheThreadThatHasToldItsCommit() async throws {
    try await explore(seeds: 0..<6_000) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let echoes = dispatcher.register(
        store: Store<Notes, EchoedNote>(identifier: "echoes", reducer: EchoReducer()))
      let heard = HeardVersions()
      let token = notes.observe { change in
        heard.note(change.version)
        dispatcher.dispatch(action: EchoedNote(number: Int(change.version)), mode: .sync)
      }
      let echoToken = echoes.observe { _ in }
      await withTaskGroup { group in
        for number in 1...2 {
          group.addTask {
            dispatcher.dispatch(action: EchoedNote(number: 10 + number), mode: .sync)
            dispatcher.dispatch(action: Note.add(number), mode: .sync)
            let version = notes.model.numbers.firstIndex(of: number)! + 1
            if !heard.all.contains(UInt64(version)) { heard.miss(number) }
          }
        }
      }
      withExtendedLifetime((token, echoToken)) {}
      if !heard.missed.isEmpty { throw Broken(description: "\(heard.missed) ended untold") }
    }
  }

  struct EchoedNote: ActionType {
    let number: Int
  }

  final class EchoReducer: Reducer<Notes, EchoedNote> {
    override func reduce(into model: inout Notes, action: EchoedNote) {
      model.numbers.append(action.number)
    }
  }

  final class HeardVersions: @unchecked Sendable {  // because `lock` guards what changes
    private let lock = NSLock()
    private var versions: [UInt64] = []
    private var numbers: [Int] = []

    func note(_ version: UInt64) { lock.withLock { versions.append(version) } }
    func miss(_ number: Int) { lock.withLock { numbers.append(number) } }
    var all: [UInt64] { lock.withLock { versions } }
    var missed: [Int] { lock.withLock { numbers } }
  }
}
