import DispatchStoreTesting
import Testing

@Suite("A difference of large models")
struct DiffOfLargeModelsTests {
  private struct Row: Equatable {
    var id = 0
    var title = "row"
    var amounts = [1, 2, 3]
  }

  /// Without `==`, and without an identity.
  private struct PlainRow {
    var number = 0
    var title = "row"
  }

  @Test func finishesWithOneChangeAmongTenThousandElements() {
    let old = (0..<10_000).map { Row(id: $0) }
    var new = old
    new[7_000].amounts[1] = 5
    #expect(
      Diff.text(expected: old, actual: new) == """
          [
            … 7000 unchanged
            [7000]: Row(
              id: 7000
              … 1 unchanged
              amounts: [
                … 1 unchanged
        −       [1]: 2
        +       [1]: 5
                … 1 unchanged
              ]
            )
            … 2999 unchanged
          ]
        """)
  }

  @Test func findsShiftedElementsAgainAlsoWithoutEquality() {
    let old = (0..<10_000).map { PlainRow(number: $0) }
    let new = [PlainRow(number: -1)] + old.dropLast() + [PlainRow(number: 1, title: "end")]
    #expect(
      Diff.text(expected: old, actual: new) == """
          [
        +   [0]: PlainRow(number: -1, title: "row")
            … 9999 unchanged
            [10000]: PlainRow(
        −     number: 9999
        +     number: 1
        −     title: "row"
        +     title: "end"
            )
          ]
        """)
  }

  @Test func finishesWhereEverythingChanged() {
    let old = (0..<10_000).map { Row(id: $0) }
    let new = (0..<10_000).map { Row(id: $0 + 20_000) }
    let text = Diff.text(expected: old, actual: new)
    #expect(text?.hasSuffix("    )\n    … 9950 more that differ\n  ]") == true)
  }
}
