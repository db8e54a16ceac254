import Testing

@testable import ModuleSelectors

struct ModuleSelectorsTests {
  @Test func aProgramWithTypesOfTheSameNamesRuns() {
    #expect(ModuleSelectors.run() == 1)
  }
}
