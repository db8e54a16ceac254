import DispatchStore
import Testing

@testable import churn

/// The lines of the file to follow.
@Suite struct FollowLineTests {
  private let title = ReplayTitle(mode: "serial", round: 1, rounds: 2)

  /// The lines for what a closure changes in a store, in the order of their texts.
  private func lines<Key: FigureKey, Value: FollowedValue>(
    _ change: (inout TrackedDictionary<Key, Value>) -> Void,
    from elements: TrackedDictionary<Key, Value> = [:]
  ) -> [String] {
    let store = Store<Elements<Key, Value>, Changed>(
      model: Elements(all: elements), reducer: Reducer())
    let text = Collected()
    let token = store.observe(.deltas(\.all)) {
      text.text += FollowLine.text(of: $0.value, store: "store")
    }
    store.updateModel { change(&$0.all) }
    token.cancel()
    return text.text.split(separator: "\n").map(String.init).sorted()
  }

  private struct Elements<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    var all: TrackedDictionary<Key, Value>
  }

  private final class Collected: @unchecked Sendable {
    // Unchecked because: an inline observer writes it, on the test's thread.
    var text = ""
  }

  @Test func aReplayHasALineAtItsBeginningAndOneAtItsEnd() {
    #expect(
      FollowLine.replay(title, copies: 3).text
        == #"{"replay":"serial","round":1,"rounds":2,"copies":3}"# + "\n")
    #expect(
      FollowLine.end(title, isCut: false, commits: 5, changes: 7).text
        == #"{"end":"serial","round":1,"commits":5,"changes":7}"# + "\n")
    #expect(
      FollowLine.end(title, isCut: true, commits: 5, changes: 7).text
        == #"{"cut":"serial","round":1,"commits":5,"changes":7}"# + "\n")
  }

  @Test func namesTheStoreTheVersionTheChangeTheKeyAndTheValue() {
    let day = Day(ofSecond: 0)
    let next = Day(ofSecond: 86_400)

    #expect(
      lines({ $0[day, default: 0] += 1 })
        == [#"{"store":"store","version":1,"change":"inserted","key":"1970-01-01","value":1}"#])
    #expect(
      lines(
        { days in
          days[day] = 2
          days[next] = nil
        }, from: [day: 1, next: 1])
        == [
          #"{"store":"store","version":1,"change":"changed","key":"1970-01-01","value":2}"#,
          #"{"store":"store","version":1,"change":"removed","key":"1970-01-02"}"#,
        ])
  }

  @Test func anAuthorHasFourCounts() {
    let author = AuthorsModel.Author(commits: 1, added: 2, deleted: 3, takeovers: 4)

    #expect(
      lines({ $0[ByteString("Ada \"A\"\n")] = author })
        == [
          #"{"store":"store","version":1,"change":"inserted","key":"Ada \"A\"\u000a","#
            + #""value":{"commits":1,"added":2,"deleted":3,"takeovers":4}}"#
        ])
  }

  @Test func aFileHasItsLinesAndItsLastAuthor() {
    let (text, binary) = (Path("a"), Path("b"))

    #expect(
      lines({ files in
        files[text] = file("Ada", .created, LineCount(added: 3, deleted: 0))
        files[binary] = file("Ben", .created, nil)
      }) == [
        #"{"store":"store","version":1,"change":"inserted","key":"a","#
          + #""value":{"lines":3,"lastAuthor":"Ada"}}"#,
        #"{"store":"store","version":1,"change":"inserted","key":"b","#
          + #""value":{"lines":null,"lastAuthor":"Ben"}}"#,
      ])
  }

  private func file(
    _ author: ByteString, _ kind: churn::Change.Kind, _ lines: LineCount?,
    after former: FilesModel.File? = nil
  ) -> FilesModel.File {
    var file = former ?? FilesModel.File(firstAuthor: author)
    file.take(churn::Change(path: Path("a"), author: author, kind: kind, lines: lines))
    return file
  }

  @Test func aFileIsThereWhileItExists() {
    let (none, three) = (LineCount(added: 0, deleted: 0), LineCount(added: 3, deleted: 0))
    let created = file("Ada", .created, three)
    let deleted = file("Ada", .deleted, LineCount(added: 0, deleted: 3), after: created)
    let key = Path("a")

    #expect(lines({ $0[key] = deleted }) == [])
    #expect(
      lines({ $0[key] = deleted }, from: [key: created])
        == [#"{"store":"store","version":1,"change":"removed","key":"a"}"#])
    #expect(
      lines({ $0[key] = created }, from: [key: deleted])
        == [
          #"{"store":"store","version":1,"change":"inserted","key":"a","#
            + #""value":{"lines":3,"lastAuthor":"Ada"}}"#
        ])
    // Only the author before the last is another one, which is no part of the answer.
    let same = file("Ada", .modified, none, after: created)
    #expect(lines({ $0[key] = same }, from: [key: created]) == [])
  }

  @Test func keysThatBecomeTheSameTextHaveTheirBytesBesides() {
    #expect(
      lines({ paths in
        paths[Path(ByteString([0x61, 0xFF]))] = 1
        paths[Path(ByteString([0x61, 0xFE]), copy: 2)] = 2
      }) == [
        #"{"store":"store","version":1,"change":"inserted","key":"a\#u{FFFD}","#
          + #""bytes":"61fe","copy":2,"value":2}"#,
        #"{"store":"store","version":1,"change":"inserted","key":"a\#u{FFFD}","#
          + #""bytes":"61ff","value":1}"#,
      ])
  }

  @Test func aResetIsALineBeforeThoseOfAllKeys() {
    #expect(
      lines({ $0 = [Day(ofSecond: 0): 3] }, from: [Day(ofSecond: 0): 1])
        == [
          #"{"store":"store","version":1,"change":"inserted","key":"1970-01-01","value":3}"#,
          #"{"store":"store","version":1,"change":"reset"}"#,
        ])
  }
}
