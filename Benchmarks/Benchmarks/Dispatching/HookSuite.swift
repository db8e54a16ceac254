import BenchmarkSupport
import DispatchStore

/// Middleware and observers, each doing next to nothing.
enum HookSuite {
  static func register() {
    for mode in [Dispatcher.Mode.sync, .serial, .async] {
      for number in [0, 1, 10] {
        measure("\(mode), \(number) middleware") {
          let fixture = Fixture(PlainReducer())
          for _ in 0..<number { fixture.dispatcher.register(middleware: PassingMiddleware()) }
          return fixture
        } batch: { fixture, count in
          fixture.gate.produce(count) { fixture.dispatcher.dispatch(action: Add($0), mode: mode) }
        }
        measure("\(mode), \(number) observers") {
          let fixture = Fixture(PlainReducer())
          let tokens = (0..<number).map { _ in fixture.store.observe(.model) { _ in } }
          return (fixture: fixture, tokens: tokens)
        } batch: { shared, count in
          let fixture = shared.fixture
          fixture.gate.produce(count) { fixture.dispatcher.dispatch(action: Add($0), mode: mode) }
        }
      }
    }
  }
}
