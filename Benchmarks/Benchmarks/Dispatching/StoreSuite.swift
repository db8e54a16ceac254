import BenchmarkSupport
import DispatchStore

/// One store that responds, among many that do not.
enum StoreSuite {
  static func register() {
    for mode in ModeSuite.modes {
      for count in [1, 1000, 100_000] {
        measure("\(mode), \(count) stores") {
          fixture(stores: count)
        } batch: { fixture, count in
          fixture.gate.produce(count) { fixture.dispatcher.dispatch(action: Add($0), mode: mode) }
        }
      }
    }
  }

  private static func fixture(stores count: Int) -> Fixture<Add> {
    let fixture = Fixture(PlainReducer())
    for _ in 1..<count {
      fixture.dispatcher.register(store: Store(reducer: TaggedReducer<Tag.A>()))
    }
    return fixture
  }
}
