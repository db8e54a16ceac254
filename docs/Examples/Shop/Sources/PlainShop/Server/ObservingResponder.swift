import HTTPTypes
import Hummingbird
import Logging
import Metrics
import Synchronization
import Tracing

/// Answers errors as JSON, with a span, metrics and a line in the log for each request.
struct ObservingResponder<Base: HTTPResponder>: HTTPResponder where Base.Context: RequestContext {
  let base: Base
  private let metrics = RequestMetrics()

  init(_ base: Base) { self.base = base }

  func respond(to request: Request, context: Base.Context) async throws -> Response {
    let start = ContinuousClock.now
    var parent = ServiceContext.current ?? .topLevel
    InstrumentationSystem.instrument.extract(
      request.headers, into: &parent, using: FieldExtractor())
    return await withSpan("HTTP \(request.method)", context: parent, ofKind: .server) { span in
      let response: Response
      do {
        let answer = try await base.respond(to: request, context: context)
        // The routes throw theirs; this one is the router's, which has no body.
        if answer.status == .notFound { throw ShopError(.notFound, "There is no such path.") }
        response = answer
      } catch {
        response = errorResponse(error, logger: context.logger)
        if response.status.kind == .serverError { span.recordError(error) }
      }
      let route = context.endpointPath ?? "unknown"
      let duration = ContinuousClock.now - start
      let status = Int(response.status.code)
      span.operationName = "\(request.method) \(route)"
      span.attributes["http.response.status_code"] = status
      metrics.record(.init(method: request.method.rawValue, route: route, status: status), duration)
      context.logger.debug(
        "request",
        metadata: [
          "method": "\(request.method)", "path": "\(request.uri.path)", "status": "\(status)",
          "duration": "\(duration)",
        ])
      return response
    }
  }
}

/// The counter and the timer of each route, made once.
private final class RequestMetrics: Sendable {
  struct Key: Hashable {
    let method: String
    let route: String
    let status: Int
  }

  private let timers = Mutex<[Key: Metrics.Timer]>([:])

  func record(_ key: Key, _ duration: Duration) {
    let timer = timers.withLock { timers in
      if let timer = timers[key] { return timer }
      let timer = Timer(
        label: "http_request_seconds",
        dimensions: [
          ("method", key.method), ("route", key.route), ("status", "\(key.status)"),
        ])
      timers[key] = timer
      return timer
    }
    timer.record(duration: duration)
  }
}

private struct FieldExtractor: Extractor {
  func extract(key: String, from fields: HTTPFields) -> String? {
    HTTPField.Name(key).flatMap { fields[$0] }
  }
}

/// The response to an error, with a body that says what was wrong.
private func errorResponse(_ error: any Error, logger: Logger) -> Response {
  struct Body: Encodable { let error: String }
  let (status, message): (HTTPResponse.Status, String)
  switch error {
  case let error as ShopError: (status, message) = (error.code.status, error.message)
  default:
    logger.error("A request failed.", metadata: ["error": "\(error)"])
    (status, message) = (.internalServerError, "The request failed.")
  }
  var response =
    (try? jsonResponse(Body(error: message), status: status)) ?? Response(status: status)
  if status == .tooManyRequests || status == .serviceUnavailable {
    response.headers[.retryAfter] = "1"
  }
  return response
}

extension ShopError.Code {
  var status: HTTPResponse.Status {
    switch self {
    case .malformed: .badRequest
    case .tooLarge: .contentTooLarge
    case .notFound: .notFound
    case .conflict: .conflict
    case .invalid: .unprocessableContent
    case .tooManyRequests: .tooManyRequests
    case .timeout: .gatewayTimeout
    case .unavailable: .serviceUnavailable
    }
  }
}
