import Hummingbird
import NIOCore
import Synchronization

/// What the gateway does wrong on purpose.
enum Fault: String, Codable, Sendable { case none, slow, error, close, mixed }

/// Injects the fault that is switched on into charges and refunds.
///
/// `error` comes before the booking, `slow` and `close` after it, as with a real bank.
final class Faults: RouterMiddleware {
  private let mode = Mutex(Fault.none)

  func set(_ fault: Fault) { mode.withLock { $0 = fault } }

  func handle(
    _ request: Request, context: GatewayContext,
    next: (Request, GatewayContext) async throws -> Response
  ) async throws -> Response {
    let fault = current()
    if fault == .error { throw HTTPError(.internalServerError, message: "fault") }
    let response = try await next(request, context)
    if fault == .slow { try await Task.sleep(for: .seconds(3)) }
    if fault == .close { try? await context.channel.close() }
    return response
  }

  private func current() -> Fault {
    let mode = mode.withLock { $0 }
    guard mode == .mixed else { return mode }
    return ([.slow, .error, .close] + Array(repeating: Fault.none, count: 7)).randomElement()!
  }
}

/// A request's context that knows its connection, so that a fault can close it.
struct GatewayContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}
