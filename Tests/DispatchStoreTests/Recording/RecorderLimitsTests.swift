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

private struct Fill: ActionType { let byte: UInt8 }
private struct Sync: ActionType {}

private struct Parts: Sendable { var all = TrackedDictionary<String, [Int]>() }

private struct Replace: ActionType {
  let key: String
  let part: Int
}

private struct Refusal: Error { let mortal: Mortal }

@Suite("Limits of a recorder", .timeLimit(.minutes(10)))
struct RecorderLimitsTests {
  @Test(arguments: Way.all)
  func anEstimateReadsNoFieldsOfObjects(way: Way) async {
    let (dispatcher, recorder) = makeRecorded(DispatchRecorder(byteLimit: 1_000_000))
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

  @Test(arguments: Way.all)
  func aHundredAttemptsOfADispatchAreKept(way: Way) async throws {
    let (dispatcher, recorder) = makeRecorded()
    let released = EventCount(of: .max)
    dispatcher.register(
      store: Store(identifier: "remote", model: 0) {
        Perform(Sync.self) { _, context in
          try context.updateModel { $0 += 1 }
          throw Refusal(mortal: Mortal(released))
        }
      })
    let result = await dispatcher.begin(
      action: Sync(), way.mode, .retry(attempts: 1_000), sends: way.sends
    ).value
    #expect(released.count >= 890 && result.error is Refusal)
    let runs = try #require(recorder.log.entries.last?.stores)
    #expect(runs.count == 100 && runs.dropLast().allSatisfy { $0.omittedCount == 0 })
    #expect(runs.last?.newVersion == 1_000 && runs.last?.outcome == .failed)
    // Attempts, and the changes of all but the first hundred.
    #expect(runs.last?.omittedCount == 900 + 900)
  }

  @Test(arguments: [false, true], ["k", "e\u{301}\u{302}\u{303}"])
  func aKeyOfAnyLengthIsWrittenAsAShortOne(isNamed: Bool, text: String) async throws {
    let (dispatcher, recorder) = makeRecorded()
    let store = Store(identifier: "parts", model: Parts()) {
      On(Replace.self) { parts, replace in
        parts.all[replace.key] = Array(repeating: replace.part, count: 50)
      }
    }
    dispatcher.register(store: isNamed ? store.undoesInPlace(\.all) : store)
    let long = String(repeating: text, count: 100_000)
    for key in [long, long, long + "!"] {
      let part = recorder.log.entries.count
      await dispatcher.send(Replace(key: key, part: part), mode: .serial(lane: key))
    }
    let log = recorder.log
    #expect(log.entries.map { $0.stores[0].differences.count } == [1, 50, 1])
    #expect(try log.jsonLines().count < 200_000)
    let (first, last) = (log.entries[0], log.entries[2])
    #expect(first.stores[0].differences[0].path != last.stores[0].differences[0].path)
    #expect(first.lane != last.lane)
    for lane in [long, first.lane] {
      #expect(log.filtered(lane: lane).entries == Array(log.entries.prefix(2)))
    }
  }

  @Test(arguments: [false, true], [false, true])
  func theBytesOfAllCommitsAreBounded(isOutside: Bool, isUnregistered: Bool) async {
    let (dispatcher, recorder) = makeRecorded(DispatchRecorder(byteLimit: 100_000))
    let store = dispatcher.register(
      store: Store(identifier: "photo", model: Data()) {
        On(Fill.self) { photo, fill in photo = Data(repeating: fill.byte, count: 10_000) }
      })
    await store.send(Fill(byte: 0))
    let entries = recorder.log.entries
    if isUnregistered { dispatcher.unregister(middleware: recorder) }
    for byte in 1...UInt8(100) {
      if isOutside {
        store.updateModel { $0 = Data(repeating: byte, count: 10_000) }
      } else {
        await store.send(Fill(byte: byte))
      }
    }
    #expect(recorder.core.state.withLock(\.commits.count) <= 10)
    if isUnregistered {
      #expect(recorder.log.entries == entries)
    } else {
      #expect((5...10).contains(recorder.log.entries.count))
    }
  }
}
