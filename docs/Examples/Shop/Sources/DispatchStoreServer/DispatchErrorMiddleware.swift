public import DispatchStore
import Foundation
public import HTTPTypes
public import Hummingbird
import Logging
import NIOHTTP1

/// Answers errors of dispatches, and all others, with a status and a body `{"error": "…"}`.
///
///     router.add(middleware: DispatchErrorMiddleware { error in
///       error is SoldOut ? HTTPError(.conflict, message: "sold out") : nil
///     })
///
/// The body of a `DispatchError` says what its code means for the client. Its message, which names stores and call
/// sites, goes to the request's log if the status is 500 or more: at `info` if the dispatch was refused or cancelled,
/// else at `error`. Middlewares outside of it, such as `TracingMiddleware`, see such a status as an error that is
/// thrown.
public struct DispatchErrorMiddleware<Context: RequestContext>: RouterMiddleware {
  private let retryAfter: Int
  private let ownErrors: @Sendable (any Error) -> HTTPError?

  /// Makes a middleware.
  ///
  /// - Parameters:
  ///   - retryAfter: The seconds for the header `Retry-After` of 429 and 503, if the error does not know better.
  ///   - ownErrors: Maps errors of your handlers; it is asked first. Nil leaves an error to the library.
  public init(
    retryAfter: Int = 1, ownErrors: @escaping @Sendable (any Error) -> HTTPError? = { _ in nil }
  ) {
    (self.retryAfter, self.ownErrors) = (retryAfter, ownErrors)
  }

  /// Answers the error, if the next responder throws one.
  public func handle(
    _ request: Request, context: Context,
    next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let failure as Failure {
      // Logged by the middleware further in.
      throw failure
    } catch {
      let answer = answer(to: error)
      if answer.status.code >= 500 {
        // A refusal protects the service, and there may be thousands in a second.
        let level: Logger.Level =
          [.refused, .cancelled].contains(RunOutcome(error)) ? .info : .error
        context.logger.log(level: level, "The request failed.", error: error)
      }
      let failure = Failure(cause: error, answer: answer)
      if answer.status.code >= 500 { throw failure }
      return try failure.response(from: request, context: context)
    }
  }

  /// The answer to an error: its status, its text and its headers.
  public func answer(to error: any Error) -> HTTPError {
    if let own = ownErrors(error) { return own }
    switch error {
    case let error as HTTPError: return error
    case let error as any HTTPResponseError: return HTTPError(error.status)
    case is CancellationError:
      if Task.isCancelled { return HTTPError(.clientClosedRequest) }
      // Somebody has cancelled the dispatch, and the client is still there.
      return answer(.serviceUnavailable, "It was cancelled. Try again later.")
    case is HTTPParserError:
      return HTTPError(.badRequest, message: "The body is not valid HTTP.")
    case let error as DispatchError:
      // A store that did not run, or was undone, has the error of the other one.
      if [.dependencyFailed, .undone].contains(error.code), let cause = error.cause {
        return answer(to: cause)
      }
      var known = answer(
        error.code.httpStatus, error.code.textForClient,
        retryAfter: error.retryAfter?.wholeSeconds)
      // Another code with this cause, such as a hook's, says nothing about a change of this dispatch.
      if error.code == .persistenceFailed,
        (error.cause as? PersistenceError)?.isOutcomeKnown == false
      {
        known.body = "It is not known whether the change was saved. Repeat it with its key."
      }
      return known
    case is PersistenceError:
      // A read waits until what it has read is saved, and changes nothing.
      return answer(.serviceUnavailable, "Saving has failed. Try again later.")
    default: return HTTPError(.internalServerError)
    }
  }

  private func answer(
    _ status: HTTPResponse.Status, _ text: String?, retryAfter seconds: Int? = nil
  ) -> HTTPError {
    var answer = HTTPError(status)
    answer.body = text
    if [.tooManyRequests, .serviceUnavailable].contains(answer.status) {
      answer.headers[.retryAfter] = "\(seconds ?? retryAfter)"
    }
    return answer
  }
}

/// An error with its answer: outer middlewares and the router take both from it.
private struct Failure: HTTPResponseError, CustomStringConvertible {
  let cause: any Error
  let answer: HTTPError

  var status: HTTPResponse.Status { answer.status }
  var description: String { "\(cause)" }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    try .error(answer.status, answer.body ?? answer.status.reasonPhrase, headers: answer.headers)
  }
}

extension DispatchError.Code {
  /// The HTTP status that fits, as the library's page about errors says.
  ///
  /// Of two codes the error does not tell enough: each `skipped` is 409, and each `failedBefore` is 500. If you use
  /// `throttled` or keys that remember failures, map them by `ownErrors`.
  public var httpStatus: HTTPResponse.Status {
    switch self {
    case .timedOut: .gatewayTimeout
    case .limitExceeded, .rateLimitExceeded: .tooManyRequests
    case .dropped, .circuitOpen, .dispatcherClosed, .dispatcherPaused, .persistenceFailed:
      .serviceUnavailable
    case .skipped: .conflict
    case .idempotencyKeyReused: .unprocessableContent
    case .invalidIdempotencyKey: .badRequest
    case .vetoed: .forbidden
    case .partMissing: .notFound
    case .leftToAnotherProcess: .accepted
    default: .internalServerError
    }
  }

  fileprivate var textForClient: String? {
    switch self {
    case .timedOut: "It took too long."
    case .limitExceeded, .dropped: "Too many requests are in flight. Try again later."
    case .rateLimitExceeded: "Too many requests. Try again later."
    case .circuitOpen: "A service that is needed does not answer. Try again later."
    case .dispatcherClosed: "The service ends. Try again."
    case .dispatcherPaused: "The service is paused. Try again later."
    case .leftToAnotherProcess: "It will be done later."
    case .failedBefore: "It has failed before, and is not tried again."
    case .persistenceFailed: "The change could not be saved."
    case .skipped: "The same is being done already."
    case .idempotencyKeyReused: "The idempotency key was used for another request."
    case .invalidIdempotencyKey: "The idempotency key is invalid."
    case .vetoed: "It is not allowed."
    case .partMissing: "It does not exist."
    default: nil
    }
  }
}

extension Duration {
  /// The seconds, rounded up, so that a client that waits for them does not come too early.
  fileprivate var wholeSeconds: Int {
    Int(components.seconds) + (components.attoseconds > 0 ? 1 : 0)
  }
}

extension HTTPResponse.Status {
  /// The request is cancelled, so that nobody reads the answer.
  fileprivate static let clientClosedRequest = Self(
    code: 499, reasonPhrase: "Client Closed Request")
}

extension Response {
  /// A response with the body `{"error": "…"}`.
  static func error(
    _ status: HTTPResponse.Status, _ message: String, headers: HTTPFields = [:]
  ) throws -> Response {
    var headers = headers
    headers[.contentType] = "application/json"
    let body = ByteBuffer(bytes: try JSONEncoder().encode(["error": message]))
    return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
  }
}
