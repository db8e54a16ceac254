import Synchronization
import Testing

@testable import DispatchStoreTesting

@Suite("A check of a model's change")
struct ChangeCheckTests {
  private struct Title: Equatable {
    static let comparisonCount = Atomic<Int>(0)
    let text: String

    static func == (one: Self, other: Self) -> Bool {
      comparisonCount.add(1, ordering: .relaxed)
      return one.text == other.text
    }
  }

  @Test func looksForNoNaNInWordsThatHaveItsLetters() {
    let counts = ["finance", "Fernanda", "savings"].map { text -> Int in
      let check = ChangeCheck(
        storeIdentifier: "report", subject: "a test", before: Title(text: ""),
        after: Title(text: text), exhaustivity: .on)
      #expect(check.unexpected("in a test") != nil)
      return Title.comparisonCount.exchange(0, ordering: .relaxed)
    }
    #expect(Set(counts).count == 1, "\(counts)")
  }
}
