import Testing

@testable import churn

/// Names and paths as bytes.
@Suite struct ByteStringTests {
  @Test func whatDiffersInOneByteIsDifferentAlthoughItPrintsTheSame() {
    let one = ByteString([0x61, 0xFF])
    let other = ByteString([0x61, 0xFE])

    #expect(one != other)
    #expect(one.text == "a\u{FFFD}")
    #expect(one.text == other.text)
  }

  @Test func lettersOfTheSameLookStayDifferent() {
    #expect(("caf\u{E9}" as ByteString) != "cafe\u{301}")
  }

  @Test func printsNoControlCharacters() {
    let text = "a\nb\u{1B}[31m\u{202E}é" as ByteString
    #expect(text.description == "a\\u{A}b\\u{1B}[31m\\u{202E}é")
  }

  @Test(arguments: [("a/b/c", "a"), ("a", "."), ("", "."), ("/a", "")] as [(String, String)])
  func folderIsTheFirstComponent(path: String, folder: String) {
    #expect(Path(ByteString(path)).folder.name.text == folder)
  }
}
