import Testing

@testable import NestedNames

struct NestedNamesTests {
  @Test func everyNestedNameIsTheTypeOfThatName() {
    for (nested, plain) in NestedNames.pairs {
      #expect(ObjectIdentifier(nested) == ObjectIdentifier(plain), "\(nested)")
    }
  }

  @Test func aProgramWrittenWithNestedNamesRuns() {
    #expect(NestedNames.run() == 1)
  }
}
