import BenchmarkSupport
import DispatchStore

/// Each mode, with a plain reduction and with a real operation; pipelined, and awaited one by one.
enum ModeSuite {
  static let modes: [Dispatcher.Mode] = [
    .sync, .serial, .serial(lane: "lane"), .async, .mainThread,
  ]

  static func register() {
    for mode in modes {
      for kind in Answer.allCases {
        measure("\(mode), \(kind.rawValue)", setup: kind.fixture) { fixture, count in
          fixture.gate.produce(count) { fixture.dispatcher.dispatch(action: Add($0), mode: mode) }
        }
        measureAsync("\(mode), \(kind.rawValue), awaited", setup: kind.fixture) { fixture, count in
          for index in 0..<count {
            _ = await fixture.dispatcher.dispatch(action: Add(index), mode: mode).result
          }
        }
      }
    }
  }
}
