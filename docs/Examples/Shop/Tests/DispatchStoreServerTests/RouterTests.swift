import DispatchStore
import DispatchStoreServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryLogging
import Logging
import Testing

@testable import DispatchStoreTesting

@Suite struct RouterTests {
  private let bank = Bank()
  private let router = Router()

  private func get(_ path: String) async throws -> TestResponse {
    try await Application(router: router).test(.router) {
      try await $0.execute(uri: path, method: .get)
    }
  }

  @Test func aLiveAndReadyServiceAnswers200() async throws {
    router.addHealth(Readiness(of: bank.dispatcher))
    #expect(try await get("/health/live").status == .ok)
    #expect(try await get("/health/ready").status == .ok)
  }

  @Test func aClosedDispatcherIsAliveButNotReady() async throws {
    router.addHealth(Readiness(of: bank.dispatcher))
    bank.dispatcher.close()
    #expect(try await get("/health/live").status == .ok)
    let response = try await get("/health/ready")
    #expect(response.status == .serviceUnavailable)
    #expect(String(buffer: response.body) == #"{"error":"The dispatcher is closed."}"#)
  }

  @Test func aReadinessThatHasEndedIsNotReady() async throws {
    let readiness = Readiness(of: bank.dispatcher)
    router.addHealth(readiness)
    readiness.end()
    #expect(try await get("/health/ready").status == .serviceUnavailable)
  }

  @Test func failedPersistenceIsNotReady() async throws {
    let database = MemoryDatabase()
    let persistence = try await database.open(for: bank.dispatcher)
    let readiness = Readiness(of: bank.dispatcher, persistence: persistence)
    let saved = try await bank.dispatcher.register(
      store: Store(identifier: "saved", model: 0) {
        On(Deposit.self) { count, _ in count += 1 }
      }, persisted: .model)
    #expect(readiness.problem == nil)
    bank.dispatcher.onWarning { _ in }
    database.fail(.inputOutput)
    #expect(await saved.send(Deposit(amount: 1)).dispatchError?.code == .persistenceFailed)
    #expect(readiness.problem == "Saving has failed.")
  }

  @Test func anOwnerWhoseLeaseIsOverIsNotReady() async throws {
    let database = MemoryDatabase()
    let persistence = try await database.open(for: bank.dispatcher)
    let readiness = Readiness(of: bank.dispatcher, persistence: persistence)
    database.endLease()
    #expect(readiness.problem == "Another process may own the database.")
    try await persistence.close()
  }

  @Test func aLagAboveTheBoundIsNotReady() async throws {
    let database = MemoryDatabase()
    let persistence = try await database.open(for: bank.dispatcher)
    let readiness = Readiness(of: bank.dispatcher, persistence: persistence, maximumLag: 1)
    let saved = try await bank.dispatcher.register(
      store: Store(identifier: "saved", model: 0) {
        On(Deposit.self) { count, _ in count += 1 }
      }, persisted: .model)
    database.hold()
    let handles = (1...2).map { _ in saved.dispatch(HandledAction(Deposit(amount: 1))) }
    for await change in saved.stream(.model, initial: true) where change.value == 2 { break }
    #expect(readiness.problem == "2 commits wait to be saved.")
    database.release()
    for handle in handles { await handle.ended() }
    #expect(readiness.problem == nil)
    await bank.dispatcher.drain()
    try await persistence.close()
  }

  @Test func metricsAreScrapedWithFreshGauges() async throws {
    let prometheus = PrometheusMetrics()
    let metrics = DispatchMetrics(of: bank.dispatcher, factory: prometheus)
    bank.dispatcher.register(middleware: metrics)
    router.addMetrics(prometheus, of: metrics)
    await bank.dispatcher.send(Deposit(amount: 1))
    let response = try await get("/metrics")
    let text = String(buffer: response.body)
    #expect(response.headers[.contentType] == "text/plain; version=0.0.4")
    #expect(
      text.contains(
        #"dispatchstore_runs_total{action="Deposit",store="account",outcome="finished"} 1"#))
    #expect(text.contains("dispatchstore_runs_in_flight 0.0\n"))
  }

  // MARK: Errors

  private func answer(to error: any Error) async throws -> TestResponse {
    router.add(
      middleware: DispatchErrorMiddleware { error in
        error is Overdrawn ? HTTPError(.conflict, message: "overdrawn") : nil
      })
    router.get("/") { _, _ -> String in throw error }
    return try await get("/")
  }

  private func error(
    _ action: any ActionType, _ options: DispatchOptions = []
  ) async throws -> any Error {
    try #require(await bank.dispatcher.send(action, options: options).error)
  }

  @Test func aTimeOutIs504() async throws {
    let response = try await answer(to: error(Deposit(amount: 1), .timeout(.zero)))
    #expect(response.status == .gatewayTimeout)
    #expect(String(buffer: response.body) == #"{"error":"It took too long."}"#)
    #expect(response.headers[.contentType] == "application/json")
    #expect(response.headers[.retryAfter] == nil)
  }

  @Test func aLimitIs429AndAClosedDispatcher503WithRetryAfter() async throws {
    let limit = DispatchLimit(1)
    let handle = bank.dispatcher.dispatch(Wait(), options: .limited(by: limit))
    await bank.waitUntilBegun()
    let limited = try await answer(to: error(Deposit(amount: 1), .limited(by: limit)))
    #expect(limited.status == .tooManyRequests)
    #expect(limited.headers[.retryAfter] == "1")
    bank.end()
    await handle.ended()
    bank.dispatcher.close()
    let middleware = DispatchErrorMiddleware<BasicRequestContext>(retryAfter: 7)
    let closed = middleware.answer(to: try await error(Deposit(amount: 1)))
    #expect(closed.status == .serviceUnavailable)
    #expect(closed.headers[.retryAfter] == "7")
  }

  @Test func aRateLimitIs429WithTheTimeOfItsNextToken() async throws {
    let limit = RateLimit(1, per: .milliseconds(60_500))
    let options = DispatchOptions.rateLimited(by: limit, key: "ann")
    let bank = Bank(clock: VirtualClock())
    await bank.dispatcher.send(Deposit(amount: 1), options: options)
    let limited = await bank.dispatcher.send(Deposit(amount: 1), options: options).error
    let response = try await answer(to: #require(limited))
    #expect(response.status == .tooManyRequests)
    #expect(response.headers[.retryAfter] == "61")
  }

  @Test func anOpenBreakerIs503WithTheRestOfItsPause() async throws {
    let breaker = CircuitBreaker(failures: 1, pause: .seconds(30))
    let options = DispatchOptions.guarded(by: breaker)
    let clock = VirtualClock()
    let bank = Bank(clock: clock)
    await bank.dispatcher.send(Withdraw(amount: 900), options: options)
    clock.advance(by: .seconds(10))
    let refused = await bank.dispatcher.send(Deposit(amount: 1), options: options).error
    let response = try await answer(to: #require(refused))
    #expect(response.status == .serviceUnavailable)
    #expect(response.headers[.retryAfter] == "20")
  }

  /// A store whose database crashes at the next commit, so that nobody knows whether that is saved.
  private func storeThatLosesItsNextCommit() async throws -> (HandlerStore<Int>, Persistence) {
    let database = MemoryDatabase()
    let persistence = try await database.open(for: bank.dispatcher)
    bank.dispatcher.onWarning { _ in }
    let saved = try await bank.dispatcher.register(
      store: Store(identifier: "saved", model: 0) {
        On(Deposit.self) { count, _ in count += 1 }
      }, persisted: .model)
    database.failAtCommit(.crash)
    return (saved, persistence)
  }

  @Test func aChangeOfUnknownOutcomeSaysSoAndAReadDoesNotSpeakOfAChange() async throws {
    let (saved, persistence) = try await storeThatLosesItsNextCommit()
    let middleware = DispatchErrorMiddleware<BasicRequestContext>()
    let unknown = await saved.send(Deposit(amount: 1)).error
    let change = middleware.answer(to: try #require(unknown))
    #expect(change.status == .serviceUnavailable)
    #expect(change.body == "It is not known whether the change was saved. Repeat it with its key.")
    let failure = await #expect(throws: PersistenceError.self) { try await persistence.flush() }
    let read = middleware.answer(to: try #require(failure))
    #expect(read.status == .serviceUnavailable)
    #expect(read.body == "Saving has failed. Try again later.")
  }

  @Test func aHookThatFailsByALostChangeDoesNotSpeakOfItsOwn() async throws {
    let (saved, _) = try await storeThatLosesItsNextCommit()
    let unknown = await saved.send(Deposit(amount: 1)).dispatchError
    let cause = try #require(unknown?.cause as? PersistenceError)
    #expect(!cause.isOutcomeKnown)
    let other = Bank()
    other.dispatcher.register(.before(Deposit.self) { _, _ in throw cause })
    let failed = try #require(await other.dispatcher.send(Deposit(amount: 1)).dispatchError)
    #expect(failed.code == .middlewareFailed)
    let answer = DispatchErrorMiddleware<BasicRequestContext>().answer(to: failed)
    #expect(answer.status == .internalServerError)
    #expect(answer.body == nil)
  }

  @Test func twoErrorMiddlewaresLogAFailureOnceAndGiveTheInnerAnswer() async throws {
    let handler = InMemoryLogHandler()
    for _ in 1...2 { router.add(middleware: DispatchErrorMiddleware()) }
    router.get("/") { _, _ -> String in throw HTTPError(.serviceUnavailable, message: "away") }
    let application = Application(router: router, logger: Logger(label: "test") { _ in handler })
    let response = try await application.test(.router) {
      try await $0.execute(uri: "/", method: .get)
    }
    #expect(String(buffer: response.body) == #"{"error":"away"}"#)
    let lines = handler.entries.filter { $0.message.description == "The request failed." }
    #expect(lines.map(\.level) == [.error])
  }

  /// Notes the statuses of the errors that reach it.
  private struct Watcher: RouterMiddleware {
    typealias Context = BasicRequestContext
    let statuses: AsyncStream<HTTPResponse.Status>.Continuation

    func handle(
      _ request: Request, context: Context,
      next: (Request, Context) async throws -> Response
    ) async throws -> Response {
      do {
        return try await next(request, context)
      } catch let error as any HTTPResponseError {
        statuses.yield(error.status)
        throw error
      }
    }
  }

  @Test func outerMiddlewaresSeeAFailureAsAnErrorAndAnAnswerAsAResponse() async throws {
    let seen = AsyncStream.makeStream(of: HTTPResponse.Status.self)
    router.add(middleware: Watcher(statuses: seen.continuation))
    router.add(middleware: DispatchErrorMiddleware())
    router.get("/bad") { _, _ -> String in throw HTTPError(.unprocessableContent) }
    router.get("/away") { _, _ -> String in
      throw HTTPError(.serviceUnavailable, headers: [.retryAfter: "7"], message: "away")
    }
    #expect(try await get("/bad").status == .unprocessableContent)
    let response = try await get("/away")
    #expect(response.status == .serviceUnavailable)
    #expect(response.headers[.retryAfter] == "7")
    #expect(String(buffer: response.body) == #"{"error":"away"}"#)
    seen.continuation.finish()
    var statuses: [HTTPResponse.Status] = []
    for await status in seen.stream { statuses.append(status) }
    #expect(statuses == [.serviceUnavailable])
  }

  @Test func anInvalidKeyIs400AndAReplyThatCannotBeSaved500() async throws {
    struct Answer {}
    struct Ask: ActionType { typealias Reply = Answer }
    let persistence = try await MemoryDatabase().open(for: bank.dispatcher)
    try await bank.dispatcher.register(
      store: Store(identifier: "saved", model: 0) {
        On(Ask.self) { count, _ in
          count += 1
          return Answer()
        }
      }, persisted: .model)
    let middleware = DispatchErrorMiddleware<BasicRequestContext>()
    let invalid = try await error(Ask(), .idempotencyKey(""))
    #expect(middleware.answer(to: invalid).status == .badRequest)
    let mistake = try await error(Ask(), .idempotencyKey("a"))
    #expect(middleware.answer(to: mistake).status == .internalServerError)
    await bank.dispatcher.drain()
    try await persistence.close()
  }

  @Test func aVetoIs403() async throws {
    bank.dispatcher.register(.before(Deposit.self) { _, _ in .veto(reason: "closed") })
    #expect(try await answer(to: error(Deposit(amount: 1))).status == .forbidden)
  }

  @Test func anErrorOfAHandlerIsMappedByTheService() async throws {
    let response = try await answer(to: error(Withdraw(amount: 900)))
    #expect(response.status == .conflict)
    #expect(String(buffer: response.body) == #"{"error":"overdrawn"}"#)
  }

  @Test func theCauseOfAnUndoneStoreDecides() async throws {
    bank.dispatcher.register(
      store: Store(identifier: "audit", model: 0) {
        On(Withdraw.self) { count, _ in count += 1 }
      })
    let result = await bank.dispatcher.send(Withdraw(amount: 900), options: .atomic).result
    let undone = try #require(result["audit"].error)
    #expect((undone as? DispatchError)?.code == .undone)
    #expect(try await answer(to: undone).status == .conflict)
  }

  @Test func aCancelledRequestIs499() async {
    let answer = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return DispatchErrorMiddleware<BasicRequestContext>().answer(to: CancellationError())
    }.value
    #expect(answer.status.code == 499)
  }

  @Test func aDispatchThatSomebodyElseCancelsIs503WithRetryAfter() async throws {
    let handle = bank.dispatcher.dispatch(Wait(), options: .named("wait"))
    await bank.waitUntilBegun()
    bank.dispatcher.cancel(named: "wait")
    let cancelled = try #require(await handle.result.error)
    let response = try await answer(to: cancelled)
    #expect(response.status == .serviceUnavailable)
    #expect(response.headers[.retryAfter] == "1")
  }

  @Test func aRefusalByAKeyIsNoFailure() async throws {
    await bank.dispatcher.send(Deposit(amount: 1), options: .idempotencyKey("a"))
    let reused = try await error(Withdraw(amount: 1), .idempotencyKey("a"))
    #expect((reused as? DispatchError)?.code == .idempotencyKeyReused)
    let invalid = try await error(Deposit(amount: 1), .idempotencyKey(""))
    for refusal in [reused, invalid] { #expect(DispatchLogger.level(of: refusal) == .info) }
  }

  @Test func statusesAreThoseOfThePageAboutErrors() throws {
    let docs = (1...5).reduce(URL(filePath: #filePath)) { path, _ in
      path.deletingLastPathComponent()
    }
    // A copy of this folder has no such page.
    guard let page = try? String(contentsOf: docs.appending(path: "Errors.md"), encoding: .utf8)
    else { return }
    let rows = page.matches(of: /\| \[?`(\w+)`[^|]* \| [^|]* \| (\d+)/).map { row in
      (String(row.1), Int(row.2)!)
    }
    let codes: [DispatchError.Code] = [
      .timedOut, .limitExceeded, .rateLimitExceeded, .circuitOpen, .dropped, .dispatcherClosed,
      .dispatcherPaused, .skipped, .idempotencyKeyReused, .invalidIdempotencyKey,
      .replyNotEncodable, .replyNotDecodable, .vetoed, .partMissing, .persistenceFailed,
      .leftToAnotherProcess,
    ]
    var statuses = Dictionary(
      uniqueKeysWithValues: codes.map { ($0.description, $0.httpStatus.code) })
    statuses["CancellationError"] = 503
    #expect(Dictionary(rows) { first, _ in first } == statuses)
  }

  @Test func anUnknownErrorIs500WithoutDetails() async throws {
    struct Secret: Error {}
    let response = try await answer(to: Secret())
    #expect(response.status == .internalServerError)
    #expect(String(buffer: response.body) == #"{"error":"Internal Server Error"}"#)
  }

  @Test func errorsOfTheServerHaveTheSameBody() async throws {
    let response = try await answer(to: HTTPError(.unprocessableContent, message: "empty name"))
    #expect(response.status == .unprocessableContent)
    #expect(String(buffer: response.body) == #"{"error":"empty name"}"#)
  }
}
