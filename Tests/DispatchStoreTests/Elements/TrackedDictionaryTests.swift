import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite(.timeLimit(.minutes(10)))
struct TrackedDictionaryTests {
  private typealias Tracked = TrackedDictionary<Int, String>

  /// Beside a dictionary with the same changes, in copies that go their own ways.
  @Test(arguments: UInt64(0)..<50)
  func hasTheElementsOfADictionaryWithTheSameChanges(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    var pairs: [(tracked: Tracked, plain: [Int: String])] = [([:], [:])]
    var readers: [ChangeReader] = []
    for step in 0..<300 {
      let index = dice.roll(pairs.count)
      let key = dice.roll(20)
      switch dice.roll(10) {
      case 0, 1: (pairs[index].tracked[key], pairs[index].plain[key]) = ("\(step)", "\(step)")
      case 2: (pairs[index].tracked[key], pairs[index].plain[key]) = (nil, nil)
      case 3:
        pairs[index].tracked[key]?.append("!")
        pairs[index].plain[key]?.append("!")
      case 4:
        pairs[index].tracked[key, default: "d"].append("?")
        pairs[index].plain[key, default: "d"].append("?")
      case 5:
        let removed = pairs[index].tracked.removeValue(forKey: key)
        #expect(removed == pairs[index].plain.removeValue(forKey: key))
      case 6:
        pairs[index].tracked.merge([(key, "m"), (key + 1, "n")]) { $0 + $1 }
        pairs[index].plain.merge([(key, "m"), (key + 1, "n")]) { $0 + $1 }
      case 7: readers.append(begin(pairs[index].tracked))
      case 8: if !readers.isEmpty { readers.removeLast() }
      default: if pairs.count < 4 { pairs.append(pairs[index]) }
      }
    }
    for pair in pairs {
      #expect(pair.tracked.dictionary == pair.plain)
      #expect(pair.tracked.count == pair.plain.count)
      #expect(pair.tracked.keys.sorted() == pair.plain.keys.sorted())
    }
  }

  @Test func equalityHashingCodingAndReflectionConcernTheElementsAlone() throws {
    var one: Tracked = [1: "a", 2: "b"]
    let reader = begin(one)
    one[3] = "c"
    one[3] = nil
    #expect(touched(one, since: reader) == "3 was -, 3 was c")
    let other = Tracked([1: "a", 2: "b"])
    #expect(one == other)
    #expect(one.hashValue == other.hashValue)
    #expect(one.description == one.dictionary.description)
    #expect(Mirror(reflecting: one).children.count == 2)
    let coded = try JSONEncoder().encode(one)
    #expect(try JSONDecoder().decode(Tracked.self, from: coded) == other)
    #expect(try JSONDecoder().decode([Int: String].self, from: coded) == other.dictionary)
  }

  @Test func elementsWithIdentityAreTheirOwnKeys() {
    var parcels = TrackedDictionary([Parcel(id: 1, amount: 1), Parcel(id: 2), Parcel(id: 1)])
    #expect(parcels.count == 2 && parcels[1]?.amount == 0)
    #expect(parcels.update(Parcel(id: 2, amount: 5))?.amount == 0)
    #expect(parcels[2]?.amount == 5)
  }

  @Test func aCheckpointKnowsEachChangeSince() {
    var tracked: Tracked = [1: "a", 2: "b"]
    let reader = begin(tracked)
    tracked[1] = "x"
    tracked[2] = nil
    tracked[3] = "c"
    #expect(touched(tracked, since: reader) == "1 was a, 2 was b, 3 was -")
    #expect(touched(tracked, since: begin(tracked)) == "")
  }

  @Test func aCopyThatWasChangedKnowsTheCheckpointOfTheFirst() {
    var tracked: Tracked = [1: "a"]
    let reader = begin(tracked)
    var copy = tracked
    tracked[1] = "x"
    copy[2] = "y"
    let second = copy
    copy[3] = "z"
    #expect(touched(tracked, since: reader) == "1 was a")
    #expect(touched(copy, since: reader) == "2 was -, 3 was -")
    #expect(touched(second, since: reader) == "2 was -")
  }

  @Test func contentsThatDoNotComeFromTheCheckpointAreUnknown() {
    var tracked: Tracked = [1: "a"]
    let old = tracked
    let earlier = begin(tracked)
    tracked[1] = "b"
    let reader = begin(tracked)
    #expect(touched(old, since: reader) == "unknown")
    #expect(touched([1: "b"], since: reader) == "unknown")
    var branch = old
    branch[1] = "b"
    #expect(touched(branch, since: reader) == "unknown")
    #expect(touched(branch, since: earlier) == "1 was a")
  }

  /// Also where two values had the same log when one of them was changed without being observed.
  @Test func copiesNeverHaveEachOthersCheckpoints() {
    var tracked: Tracked = [1: "a"]
    var copy = tracked
    copy[1] = "c"
    let reader = begin(tracked)
    #expect(touched(copy, since: reader) == "unknown")
    tracked[2] = "b"
    #expect(touched(tracked, since: reader) == "2 was -")
  }

  @Test func whatWasReadIsDroppedAtTheNextChange() {
    var tracked: Tracked = [:]
    var reader = begin(tracked)
    for key in 0..<10_000 {
      tracked[key] = "a"
      _ = reader.take(tracked.recordedChanges)
    }
    #expect(tracked.log.entries.count == 1)
  }

  @Test func whatIsNotReadIsBoundedByTheElements() {
    var tracked: Tracked = [0: "a"]
    var reader = begin(tracked)
    for step in 0..<100_000 { tracked[step % 50] = "\(step)" }
    #expect(tracked.log.entries.count < 1_100)
    #expect(touched(tracked, since: reader).split(separator: ",").count >= 50)
    _ = reader.take(tracked.recordedChanges)
    for key in 0..<10_000 {
      tracked[key] = "b"
      tracked[key] = nil
    }
    #expect(tracked.log.entries.count < 1_100)
    #expect(touched(tracked, since: reader).hasPrefix("0 was 99950, "))
  }

  @Test func anElementThatComesBackWhileTheNotesAreCompactedIsKnown() {
    var tracked: Tracked = [:]
    let reader = begin(tracked)
    tracked[-1] = "a"
    tracked[-1] = nil
    for key in 0..<1_022 { tracked[key] = "b" }
    // In place: the log is full, and the element is not there yet.
    tracked[-1, default: "c"].append("!")
    #expect(touched(tracked, since: reader).hasSuffix(", -1 was -"))
    #expect(tracked.log.entries.count == 1_023)
  }

  @Test func insertingAndRemovingAllElementsAtOnceIsKnown() {
    var tracked: Tracked = [:]
    var reader = begin(tracked)
    for key in 0..<20_000 { tracked[key] = "a" }
    #expect(touched(tracked, since: reader).split(separator: ",").count == 20_000)
    _ = reader.take(tracked.recordedChanges)
    tracked.removeAll()
    #expect(touched(tracked, since: reader).split(separator: ",").count == 20_000)
  }

  @Test func withoutAReaderNothingIsNotedAndTheNextChangeAfterTheLastOneDropsAll() {
    var tracked: Tracked = [:]
    for key in 0..<100 { tracked[key] = "a" }
    #expect(tracked.log.entries.isEmpty)
    var reader = begin(tracked)
    for key in 0..<100 { tracked[key] = "b" }
    var copy = tracked
    reader.end()
    tracked[1] = "c"
    #expect(!tracked.log.isRecording && tracked.log.entries.isEmpty)
    copy[1] = "d"
    #expect(!copy.log.isRecording && copy.log.entries.isEmpty)
    let next = begin(tracked)
    tracked[1] = "e"
    #expect(touched(tracked, since: next) == "1 was c")
  }

  @Test func oneReadersEndDoesNotEndTheOthers() {
    var tracked = Tracked(uniqueKeysWithValues: (0..<5_000).map { ($0, "a") })
    var (reader, other) = (begin(tracked), begin(tracked))
    other.end()
    for _ in 0..<3 {
      for key in 0..<4_000 { tracked[key]?.append("!") }
      let isKnown = reader.take(tracked.recordedChanges) != nil
      #expect(isKnown)
    }
    for key in 0..<4_000 { tracked[key] = "b" }
    #expect(touched(tracked, since: reader).split(separator: ",").count == 4_000)
    reader.end()
    tracked[0] = "c"
    #expect(!tracked.log.isRecording && tracked.log.entries.isEmpty)
  }

  @Test func copiesKnowTheReadersOfTheFirst() {
    let first = Tracked(uniqueKeysWithValues: (0..<5_000).map { ($0, "a") })
    var earlier = begin(first)
    var copy = first
    copy[0] = "b"
    let reader = begin(copy)
    earlier.end()
    for key in 0..<4_000 { copy[key] = "c" }
    #expect(touched(copy, since: reader).split(separator: ",").count >= 4_000)
  }

  /// One reader has read the first collection, too, the other one only the assigned one.
  @Test func aReaderThatHasReadAnotherCollectionIsCountedInTheAssignedOne() {
    var tracked = Tracked(uniqueKeysWithValues: (0..<5_000).map { ($0, "a") })
    var other = begin(tracked)
    tracked = Tracked(uniqueKeysWithValues: (0..<5_000).map { ($0, "b") })
    let isKnown = other.take(tracked.recordedChanges) != nil
    #expect(!isKnown)
    var reader = begin(tracked)
    other.end()
    for key in 0..<4_000 { tracked[key] = "c" }
    #expect(touched(tracked, since: reader).split(separator: ",").count == 4_000)
    reader.end()
    tracked[0] = "d"
    #expect(!tracked.log.isRecording && tracked.log.entries.isEmpty)
  }

  /// No reader reads what an action touches that declares to change nothing.
  @Test(arguments: [false, true], [2, 3_000])
  func aReaderThatBeginsLeavesTheOthersWhatTheyHaveNotRead(isCopied: Bool, count: Int) {
    var tracked = Tracked(uniqueKeysWithValues: (0..<4_000).map { ($0, "a") })
    var copies: [Tracked] = []
    let earlier = begin(tracked)
    tracked[0]?.append("")
    tracked[-1]?.append("")
    if isCopied { copies.append(tracked) }
    let later = begin(tracked)
    for key in 1...count {
      tracked[key]?.append("!")
      if isCopied, key < 3 { copies.append(tracked) }
    }
    func keys(since reader: ChangeReader) -> [Int]? {
      reader.checkpoint.flatMap { tracked.log.entries(since: $0) }?.map(\.key)
    }
    #expect(keys(since: later) == Array(1...count))
    // Whether it is compacted or not, an element that was not there and is not there need not be in it.
    #expect(keys(since: earlier)?.filter { $0 >= 0 } == Array(0...count))
    withExtendedLifetime(copies) {}
  }

  @Test func aReaderThatBeginsBeforeAnActionIsUndoneLosesNothingEither() {
    var tracked: Tracked = [1: "a", 2: "b"]
    let earlier = begin(tracked)
    tracked[1]?.append("")
    let later = begin(tracked)
    let hold = ChangeLogHold()
    for _ in 0..<2 {
      hold.advance()
      tracked.hold(by: hold)
      tracked[2] = "x"
      _ = tracked.undoHeld()
      hold.advance()
      tracked.endHold()
    }
    let last = begin(tracked)
    tracked[2] = "c"
    #expect(touched(tracked, since: last) == "2 was b")
    #expect(touched(tracked, since: earlier) == "1 was a, 2 was b")
    #expect(touched(tracked, since: later) == "2 was b")
  }

  /// As another store's observers do, if the action hands a copy over.
  @Test(arguments: [false, true], [false, true])
  func aCopyThatIsReadBeforeAnActionIsUndoneDoesNotDisturbThat(hasBegun: Bool, isKept: Bool) {
    var tracked: Tracked = [1: "a", 2: "b"]
    var reader = hasBegun ? begin(tracked) : ChangeReader()
    let hold = ChangeLogHold()
    hold.advance()
    tracked.hold(by: hold)
    tracked[1] = "x"
    var copy: Tracked? = tracked
    _ = reader.take(copy?.recordedChanges)
    if !isKept { copy = nil }
    tracked[2] = "y"
    _ = tracked.undoHeld()
    hold.advance()
    tracked.endHold()
    #expect(tracked == [1: "a", 2: "b"])
    tracked[2] = "c"
    let changes = reader.take(tracked.recordedChanges)
    #expect(changes == nil, "The content that was read was undone.")
    tracked[2] = "d"
    #expect(touched(tracked, since: reader) == "2 was c")
    withExtendedLifetime(copy) {}
  }

  @Test func whatIsNotReadIsBoundedAlsoIfReadersBeginAllTheTime() {
    var tracked: Tracked = [0: "a"]
    let reader = begin(tracked)
    for key in 1..<10_000 {
      tracked[key]?.append("")
      tracked[0]?.append("")
      _ = begin(tracked)
    }
    #expect(tracked.log.entries.count < 1_100)
    #expect(touched(tracked, since: reader).contains("0 was a"))
  }

  @Test func changesInPlaceCopyNothingOfTheCollection() {
    var tracked = TrackedDictionary(uniqueKeysWithValues: (0..<1_000).map { ($0, Parcel(id: $0)) })
    let reader = begin(tracked)
    let place = unsafeBitCast(tracked.elements, to: UInt.self)
    for key in 0..<1_000 { tracked[key]?.amount += 1 }
    for key in 0..<1_000 { tracked[key, default: Parcel()].amount += 1 }
    #expect(unsafeBitCast(tracked.elements, to: UInt.self) == place)
    withExtendedLifetime(reader) {}
  }

  private func begin<Value>(_ tracked: TrackedDictionary<Int, Value>) -> ChangeReader {
    var reader = ChangeReader()
    reader.begin(tracked.log)
    return reader
  }

  /// The elements that were changed since the reader's last call, which then counts as having read them.
  private func touched(_ tracked: Tracked, since reader: ChangeReader) -> String {
    defer { tracked.log.markRead() }
    guard let touched = reader.checkpoint.flatMap({ tracked.log.entries(since: $0) }) else {
      return "unknown"
    }
    return touched.map { "\($0.key) was \($0.old ?? "-")" }.joined(separator: ", ")
  }
}
