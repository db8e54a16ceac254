import DispatchStore
import DispatchStoreServer
import InMemoryTracing
import Synchronization
import Tracing

struct Deposit: ActionType { let amount: Int }
struct Withdraw: ActionType { let amount: Int }
/// Deposits from within a handler that awaits.
struct Transfer: ActionType { let amount: Int }
/// Is handled until `Bank.end()`.
struct Wait: ActionType {}
struct Overdrawn: Error {}
/// Is refused, which is an answer.
struct Buy: ActionType {}
struct SoldOut: AnswerError {}

/// The spans that code has seen as the current one, by name of the code.
final class SeenSpans: Sendable {
  private let spans = Mutex<[String: String]>([:])

  func note(_ name: String) {
    let span = InstrumentationContext.current?.inMemorySpanContext?.spanID
    spans.withLock { $0[name] = span }
  }

  subscript(name: String) -> String? { spans.withLock { $0[name] } }
}

/// A dispatcher with an account.
struct Bank {
  let dispatcher: Dispatcher
  let account: Store<Int, HandledAction>
  let seen = SeenSpans()
  private let begun = AsyncStream.makeStream(of: Void.self)
  private let go = AsyncStream.makeStream(of: Void.self)

  init(clock: (any Clock<Duration>)? = nil) {
    dispatcher = Dispatcher(
      name: "bank", clock: clock,
      carrying: [CarriedTaskLocal(InstrumentationContext.$current)])
    let (begun, go, seen) = (begun.continuation, go.stream, seen)
    account = dispatcher.register(
      store: Store(identifier: "account", model: 100) {
        On(Deposit.self) { balance, deposit in
          seen.note("Deposit")
          balance += deposit.amount
        }
        On(Withdraw.self) { balance, withdraw in
          guard balance >= withdraw.amount else { throw Overdrawn() }
          balance -= withdraw.amount
        }
        On(Buy.self) { balance, _ in
          guard balance > 1_000 else { throw SoldOut() }
          balance -= 1_000
        }
        Perform(Transfer.self) { transfer, context in
          await Task.yield()
          seen.note("Transfer")
          async let child: Void = seen.note("child task")
          await child
          await context.dispatcher.send(Deposit(amount: transfer.amount))
        }
        Perform(Wait.self) { _, _ in
          begun.yield()
          for await _ in go { break }
          try Task.checkCancellation()
        }
      })
  }

  /// Returns once the handler of a `Wait` has begun.
  func waitUntilBegun() async { for await _ in begun.stream { break } }

  /// Ends a `Wait`.
  func end() { go.continuation.yield() }
}

/// The ways to make a dispatch and to await its end.
enum Way: CaseIterable {
  case async, sync, serial, lane, mainThread, send, sendInLane

  @discardableResult
  func run(
    _ action: any ActionType, by dispatcher: Dispatcher, _ options: DispatchOptions = []
  ) async -> DispatchResult {
    switch self {
    case .send: return await dispatcher.send(action, options: options)
    case .sendInLane: return await dispatcher.send(action, mode: .serial(lane: 7), options: options)
    default:
      return await dispatcher.dispatch(action: action, mode: mode, options: options).result
    }
  }

  /// The mode of the dispatch.
  var mode: Dispatcher.Mode {
    switch self {
    case .async, .send: .async
    case .sync: .sync
    case .serial: .serial
    case .lane, .sendInLane: .serial(lane: 7)
    case .mainThread: .mainThread
    }
  }
}
