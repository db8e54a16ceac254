import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// docs/Testing.md shows what these sources are and what they print.
@Suite("docs/Testing.md")
struct TestingPageTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private static func read(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// What stands between the marks of a source, without its indentation.
  private static func part(_ name: String, of file: String) throws -> String {
    let source = try read("Tests/DispatchStoreTestingTests/Documentation/\(file)")
    let lines = source.components(separatedBy: "\n")
    func isMark(_ line: String, _ name: String) -> Bool {
      line.trimmingCharacters(in: .whitespaces) == "// page: \(name)"
    }
    let start = try #require(lines.firstIndex { isMark($0, name) })
    let body = lines[(start + 1)...].prefix { !isMark($0, "end") }
    let indentation = lines[start].prefix { $0 == " " }.count
    return body.map { String($0.dropFirst(min(indentation, $0.prefix { $0 == " " }.count))) }
      .joined(separator: "\n")
  }

  @Test(arguments: [
    ("the bank", "BankStory.swift"), ("the mended bank", "MendedBankStory.swift"),
  ])
  func showsTheSourcesThatTheseTestsRun(_ name: String, _ file: String) throws {
    let page = try Self.read("docs/Testing.md")
    // Members of an enum there are functions of the page's program here.
    let source = try Self.part(name, of: file).replacing("static func", with: "func")
    #expect(page.contains(source), "\(name) is not on the page")
  }

  @Test func theBugOfTheBankIsFoundAsThePageShows() async throws {
    let failure = await #expect(throws: ExplorationFailure.self) {
      try await explore(seeds: 0..<10_000, transferTwice)
    }
    let printed = "\(try #require(failure))"
    let page = try Self.read("docs/Testing.md")
    let shown = try #require(
      page.split(separator: "```").first { $0.contains("Seed 3 fails") },
      "The output is not on the page")
    var rest = printed[...]
    for line in shown.split(separator: "\n").dropFirst() where line != "…" {
      let place = try #require(
        rest.firstRange(of: line), "\(line) is not in this place of\n\(printed)")
      rest = rest[place.upperBound...]
    }
  }

  @Test func theMendedBankLosesNothing() async throws {
    try await explore(seeds: seeds(2_000), Mended.transferTwice)
  }
}
