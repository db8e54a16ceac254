import Foundation
import Programs
import Testing

/// The guide's shop, and `churn --persist`, which are killed and run again.
///
/// One after the other, since a program that begins meanwhile would inherit the pipes of this one.
@Suite(.serialized) struct KilledProgramTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  private func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test func theShopIsThatOfTheGuidesFifthStepWithTwoNewLinesAndTenChangedOnes() throws {
    let guide = try text("docs/Guide.md")
    let program = try text("Tests/Persistence/Sources/Shop/main.swift")
    #expect(guide.contains("```swift\n\(program)```\n"))
    let fifth = try #require(guide.components(separatedBy: "\n## ").first { $0.hasPrefix("5. ") })
    let shop = try #require(fifth.components(separatedBy: "```swift\n").last)
    let before = shop.components(separatedBy: "```").first!.split(separator: "\n")
    let persistent = program.components(separatedBy: "\nprint(").first!.split(separator: "\n")
    #expect(persistent.count - before.prefix { !$0.hasPrefix("for ") }.count == 2)
    #expect(Set(persistent).subtracting(before).count == 12)
  }

  @Test(arguments: 0..<20)
  func eachCustomerWhoWasToldThatShePaidHasPaidAfterAKill(_ kill: Int) throws {
    let (sold, known) = try sell(untilLine: 1 + kill * 7)
    let found = try sell(untilLine: nil).first
    let numbers = found.split(separator: " ")
    let (tea, sales) = (Int(numbers.first!)!, Int(numbers.last!)!)
    #expect(known == "1000 [:] 0")
    #expect(sales >= sold && 1_000 - tea >= sales, "\(sold) were told: \(found)")
    // The kill may have come between two stores.
    let paid = [sales, sales + 1].map { "[\"ann\": \($0 * 10)]" }
    #expect(sales == 0 || paid.contains { found.contains($0) }, "\(sold) were told: \(found)")
  }

  /// Sells until a customer has been told, kills the program, and returns how many were told; nil sells nothing.
  private func sell(untilLine last: Int?) throws -> (told: Int, first: String) {
    let stdbuf = ["-oL", program("Shop").path]
    let shop = try RunningProgram("/usr/bin/stdbuf", stdbuf, in: folder.path)
    var lines: [String] = []
    if let last {
      shop.send(Array(repeating: "ann", count: 1_000).joined(separator: "\n"))
      lines = shop.lines(last + 1)
      shop.signal(SIGKILL)
    }
    try shop.endInput()
    lines += shop.lines()
    _ = shop.end()
    return (lines.count { $0 == "ann has paid" }, try #require(lines.first))
  }

  @Test func theUndoOfAnAtomicActionIsInAllThreeStoresAfterAKillOrInNone() throws {
    var lines = ["now 0 0 0"]
    for kill in 0..<30 {
      let next = try transfer(untilLine: 5 + kill * 7)
      let expected = ["next", "now"].compactMap { word in lines.last { $0.hasPrefix(word) } }
      let found = try #require(next.first).replacing("found", with: "")
      #expect(
        expected.contains { $0.hasSuffix(found) }, "\(kill): \(found) after \(lines.suffix(2))")
      let numbers = found.split(separator: " ").map { Int($0)! }
      #expect(numbers.reduce(0, +) == 0 && numbers.count == 3)
      lines = next
    }
  }

  /// Transfers until a line has come, kills the program, and returns its whole lines.
  private func transfer(untilLine last: Int) throws -> [String] {
    let transfers = try RunningProgram(program("Transfers").path, [folder.database])
    let lines = transfers.lines(last)
    transfers.signal(SIGKILL)
    defer { _ = transfers.end() }
    return lines + transfers.lines()
  }

  @Test(arguments: ["serial", "sync"])
  func churnGoesOnWhereItWasKilledWithEqualAnswers(_ mode: String) throws {
    let history = ["--repo", root.path, "--limit", "120", "--mode", mode]
    let plain = try replay(history + ["--rounds", "1"], killedAfter: nil)
    var kills = 0
    let saved = history + ["--persist", folder.database]
    for tenth in 1...8 where try !replay(saved, killedAfter: Double(tenth) / 10).hasEnded {
      kills += 1
    }
    let resumed = try replay(saved, killedAfter: nil)
    #expect(kills > 0 && resumed.hasEnded)
    #expect(resumed.answers == plain.answers && !plain.answers.isEmpty)
  }

  /// Returns the report's answers, without the modes' figures.
  private func replay(
    _ arguments: [String], killedAfter seconds: Double?
  ) throws -> (hasEnded: Bool, answers: String) {
    let (churn, output) = (Process(), Pipe())
    churn.executableURL = program("churn")
    churn.arguments = arguments
    (churn.standardOutput, churn.standardError) = (output, FileHandle.nullDevice)
    try churn.run()
    if let seconds {
      let id = churn.processIdentifier
      DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { kill(id, SIGKILL) }
    }
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    churn.waitUntilExit()
    let answers =
      String(decoding: data, as: UTF8.self).components(separatedBy: "\nModes").first ?? ""
    return (churn.terminationReason == .exit && churn.terminationStatus == 0, answers)
  }
}
