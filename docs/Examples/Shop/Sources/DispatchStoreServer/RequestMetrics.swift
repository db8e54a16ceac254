import HTTPTypes
public import Hummingbird
public import Metrics

/// Times requests by route, method and status, until the answer is ready; a stream's, until it begins.
///
///     router.add(middleware: RequestMetrics())
///
/// The timer is `http.server.request.duration`, and its histogram counts the requests, too. Hummingbird's own
/// `MetricsMiddleware` waits for the end of each body, so that each answer is written to its socket in three pieces.
public struct RequestMetrics<Context: RequestContext>: RouterMiddleware {
  private struct Key: Hashable {
    let route: String
    let method: HTTPRequest.Method
    let status: Int
  }

  private let factory: any MetricsFactory
  private let timers = Cache<Key, any TimerHandler>()

  /// Makes a middleware that records to a backend.
  public init(factory: any MetricsFactory = MetricsSystem.factory) { self.factory = factory }

  /// Times the request.
  public func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let start = ContinuousClock.now
    func record(_ status: HTTPResponse.Status) {
      let key = Key(
        route: context.endpointPath ?? "unknown", method: request.method, status: status.code)
      timer(key).recordNanoseconds((ContinuousClock.now - start).nanoseconds)
    }
    do {
      let response = try await next(request, context)
      record(response.status)
      return response
    } catch {
      record((error as? any HTTPResponseError)?.status ?? .internalServerError)
      throw error
    }
  }

  private func timer(_ key: Key) -> any TimerHandler {
    timers[
      key,
      orMake: factory.makeTimer(
        label: "http.server.request.duration",
        dimensions: [
          ("http.route", key.route), ("http.request.method", key.method.rawValue),
          ("http.response.status_code", "\(key.status)"),
        ])]
  }
}
