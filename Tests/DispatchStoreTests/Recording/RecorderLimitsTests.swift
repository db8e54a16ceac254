import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// Counts how often something reads its fields, which it may be changing.
private final class Progress: Sendable, CustomReflectable {
  let reads = EventCount(of: .max)

  var customMirror: Mirror {
    reads.add()
    return Mirror(self, children: [:])
  }
}

private struct Import: ActionType { let progress: Progress }

private struct Imports: Sendable {
  var current: Progress?
  var all = TrackedDictionary<Int, Progress>()
}

@Suite("Limits of a recorder", .timeLimit(.minutes(10)))
struct RecorderLimitsTests {
  @Test(arguments: Way.all)
  func anEstimateReadsNoFieldsOfObjects(way: Way) async {
    let (dispatcher, recorder) = (Dispatcher(), DispatchRecorder(byteLimit: 1_000_000))
    dispatcher.register(middleware: recorder)
    dispatcher.register(
      store: Store(identifier: "imports", model: Imports()) {
        On(Import.self) { imports, action in
          imports.current = action.progress
          imports.all[1] = action.progress
        }
      }.undoesInPlace(\.all))
    let all = (0..<3).map { _ in Progress() }
    for progress in all {
      _ = await dispatcher.begin(
        action: Import(progress: progress), way.mode, [], sends: way.sends
      ).value
    }
    #expect(all.map(\.reads.count) == [0, 0, 0])
    #expect(recorder.log.entries.count == 3)
  }
}
