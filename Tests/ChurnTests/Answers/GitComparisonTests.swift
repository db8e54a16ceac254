import Testing

@testable import churn

/// The sizes of files, compared with git's.
@Suite struct GitComparisonTests {
  private let numstat = Array("3\t0\ta\u{0}-\t-\tb\u{0}".utf8)

  @Test func leavesAsideWhatWasBinary() throws {
    let comparison = try GitComparison(
      [Path("a"): .lines(3), Path("b"): .binary], numstat: numstat)

    #expect(comparison.isEqual)
    #expect(comparison.compared == 1)
    #expect(comparison.leftAside == 1)
  }

  @Test func namesWhatDiffersAndWhatIsMissingOnEitherSide() throws {
    let comparison = try GitComparison(
      [Path("a"): .lines(4), Path("c"): .binary], numstat: numstat)

    #expect(comparison.differing == 3)
    #expect(
      comparison.examples == [
        "'a' 4 lines here, 3 lines in git", "'b' not there here, binary in git",
        "'c' binary here, not there in git",
      ])
  }

  @Test(arguments: ["3\t0\ta", "nonsense\u{0}"])
  func refusesWhatIsNotGits(output: String) {
    #expect(throws: Failure.self) { try GitComparison([:], numstat: Array(output.utf8)) }
  }
}
