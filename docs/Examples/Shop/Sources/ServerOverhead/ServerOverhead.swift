import DispatchStore
import DispatchStoreServer
import Foundation
import Logging
import Tracing

struct Add: ActionType { let amount: Int }

/// What is registered with a dispatcher.
enum Setup: String, CaseIterable {
  case nothing
  /// Middlewares that do nothing: what the library itself takes to call hooks.
  case storeHooks = "empty hooks by store"
  case dispatchHooks = "empty hooks by dispatch"
  case binding = "one that binds a value"
  case logs, metrics
  /// Each dispatch begins a trace.
  case traces, all
  /// The dispatches are made in a request whose trace is sampled out.
  case tracesInRequest = "traces, in a request"
  case allInRequest = "all, in a request"

  var isAll: Bool { self == .all || self == .allInRequest }
  var hasTraces: Bool { isAll || self == .traces || isInRequest }
  var isInRequest: Bool { self == .tracesInRequest || self == .allInRequest }
}

final class Empty: Middleware {
  @TaskLocal static var value = 0
  let hooks: MiddlewareHooks
  let isBinding: Bool

  init(_ hooks: MiddlewareHooks, isBinding: Bool = false) {
    (self.hooks, self.isBinding) = (hooks, isBinding)
  }

  func dispatchWillBegin(_ dispatch: DispatchInfo) {
    if isBinding { dispatch.bind(Empty.$value, to: 1) }
  }
}

enum Way: String, CaseIterable {
  case sync, serial
  case send = "send, in lanes"
  case sendAtOnce = "send, in no lane"
}

/// Many stores and lanes, used in turn.
struct Bench {
  static let storeCount = 64
  static let laneCount = 64
  let setup: Setup
  let dispatcher: Dispatcher
  let identifiers: [String]
  private let context: InstrumentationContext?

  init(_ setup: Setup, tracer: JSONLinesTracer) {
    self.setup = setup
    let dispatcher = Dispatcher(
      name: setup.rawValue, carrying: [CarriedTaskLocal(InstrumentationContext.$current)])
    switch setup {
    case .storeHooks: dispatcher.register(middleware: Empty(.stores))
    case .dispatchHooks: dispatcher.register(middleware: Empty(.dispatches))
    case .binding: dispatcher.register(middleware: Empty(.dispatches, isBinding: true))
    default: break
    }
    if setup.hasTraces { dispatcher.register(middleware: DispatchTracer(tracer)) }
    if setup.isAll || setup == .metrics {
      dispatcher.register(
        middleware: DispatchMetrics(of: dispatcher, factory: PrometheusMetrics()))
    }
    if setup.isAll || setup == .logs {
      dispatcher.register(middleware: DispatchLogger(Logger(label: "bench")))
    }
    context = setup.isInRequest ? tracer.startSpan("request").context : nil
    self.dispatcher = dispatcher
    identifiers = (0..<Self.storeCount).map { "store \($0)" }
    for identifier in identifiers {
      dispatcher.register(
        store: Store(identifier: identifier, model: 0) {
          On(Add.self) { sum, add in sum += add.amount }
        })
    }
  }

  /// Returns the processor time and the real time of a dispatch, in nanoseconds.
  func measure(_ way: Way, count: Int) async -> (processor: Double, real: Double) {
    await InstrumentationContext.$current.withValue(context) {
      let (processor, real) = (Self.processorTime, ContinuousClock.now)
      switch way {
      case .sync: sync(count)
      case .serial: await serial(count)
      case .send: await send(count) { .serial(lane: $0 % Self.laneCount) }
      case .sendAtOnce: await send(count) { _ in .async }
      }
      let duration = ContinuousClock.now - real
      return (
        (Self.processorTime - processor) / Double(count),
        duration / .nanoseconds(1) / Double(count)
      )
    }
  }

  private func sync(_ count: Int) {
    for index in 0..<count {
      dispatcher.dispatch(
        Add(amount: 1), to: identifiers[index % Self.storeCount], mode: .sync)
    }
  }

  private func serial(_ count: Int) async {
    let handles = (0..<count).map { index in
      dispatcher.dispatch(
        Add(amount: 1), to: identifiers[index % Self.storeCount],
        mode: .serial(lane: index % Self.laneCount))
    }
    for handle in handles { await handle.ended() }
  }

  private func send(_ count: Int, in mode: (_ index: Int) -> Dispatcher.SendMode) async {
    for index in 0..<count {
      await dispatcher.send(
        Add(amount: 1), to: identifiers[index % Self.storeCount], mode: mode(index))
    }
  }

  /// The processor time of all threads of the process, in nanoseconds.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}

/// The first quartile, the median and the third quartile.
func quartiles(_ values: [Double]) -> String {
  let sorted = values.sorted()
  let parts = [1, 2, 3].map { sorted[min(sorted.count * $0 / 4, sorted.count - 1)] }
  return "\(Int(parts[1])) (\(Int(parts[0]))–\(Int(parts[2])))"
}

/// Prints what logs at info, metrics and a sampled-out trace cost a dispatch: `ServerOverhead [rounds] [count]`.
@main
struct ServerOverhead {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    let (rounds, count) = (arguments.first ?? 15, arguments.dropFirst().first ?? 20_000)
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).jsonl")
    let tracer = try JSONLinesTracer(file: file, sampling: 0)
    defer { try? FileManager.default.removeItem(at: file) }
    let benches = Setup.allCases.map { Bench($0, tracer: tracer) }

    print("ns per dispatch: median (quartiles) of \(rounds) alternating rounds of \(count)")
    for way in Way.allCases {
      var times: [Setup: [(processor: Double, real: Double)]] = [:]
      for round in 0...rounds {
        for bench in benches {
          let time = await bench.measure(way, count: count)
          // The first round warms up.
          if round > 0 { times[bench.setup, default: []].append(time) }
        }
      }
      print("\n\(way.rawValue), \(Bench.storeCount) stores, \(Bench.laneCount) lanes")
      for setup in Setup.allCases {
        let own = times[setup]!
        let more = zip(own, times[.nothing]!).map { $0.processor - $1.processor }
        print(
          "  \(setup.rawValue): processor \(quartiles(own.map(\.processor))), "
            + "real \(quartiles(own.map(\.real))), more processor \(quartiles(more))")
      }
    }
  }
}
