import DispatchStore
import DispatchStoreTesting
import Testing

struct SummedTally: ModelType, GettersProviding {
  var numbers: [Int] = []
  var unit = "m"

  enum Getters {
    static let numbers = StateSelector(\SummedTally.numbers)
    static let sum = StateSelector.combine(numbers) { $0.reduce(0, +) }
    static let label = StateSelector.combine(\.unit, sum) { unit, sum in "\(sum) \(unit)" }
  }
}

@Suite("Getters", .timeLimit(.minutes(10)))
struct GettersTests {
  private let store = Store<SummedTally, Ping>(
    model: SummedTally(numbers: [1, 2, 3]), reducer: Reducer())

  @Test func areReadByName() {
    #expect(store.getters.label == "6 m")
    store.updateModel { $0.unit = "km" }
    #expect(store.getters.label == "6 km")
    #expect(store.getters.sum == 6)
    #expect(store.getters.numbers == [1, 2, 3])
  }

  @Test func areCachedWhileTheirInputsStay() {
    for unit in ["m", "km", "cm"] {
      store.updateModel { $0.unit = unit }
      #expect(store.getters.label == "6 \(unit)")
      #expect(store.getters.sum == 6)
    }
    #expect(store.computationCount(of: SummedTally.Getters.sum) == 1)
  }
}
