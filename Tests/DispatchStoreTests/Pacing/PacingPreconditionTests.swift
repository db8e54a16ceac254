import DispatchStore
import Foundation
import Testing

struct PacingPreconditionTests {
  @Test func aRateLimitOfNothingStopsTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = RateLimit(0, per: .seconds(1), name: "mails")
    }
    #expect(result.message.contains("The rate limit \"mails\" was made with 0 per period"))
  }

  @Test func aRateLimitWithoutABurstStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = RateLimit(-1, per: .seconds(1)) }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = RateLimit(5, per: .seconds(1), burst: 0)
    }
    #expect(result.message.contains("5 per period and a burst of 0"))
  }

  @Test func aRateLimitWithoutAPeriodStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = RateLimit(5, per: .seconds(-1)) }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = RateLimit(5, per: .zero, name: "mails")
    }
    #expect(
      result.message.contains("The rate limit \"mails\" was made with a period of 0.0 seconds"))
  }

  @Test func aBreakerThatCouldNeverCloseStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = CircuitBreaker(trials: 0) }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CircuitBreaker(failures: 0, name: "bank")
    }
    #expect(
      result.message.contains("The circuit breaker \"bank\" was made with 0 failures and 1 trials"))
  }

  @Test func aBreakerWithoutAPauseStopsTheProgram() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = CircuitBreaker(pause: .zero, name: "bank")
    }
    #expect(
      result.message.contains("The circuit breaker \"bank\" was made with a pause of 0.0 seconds"))
  }

  @Test func neitherIsADefaultOfADispatcher() async {
    await #expect(processExitsWith: .failure) {
      _ = Dispatcher(defaults: .rateLimited(by: RateLimit(1, per: .seconds(1))))
    }
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Dispatcher(defaults: .guarded(by: CircuitBreaker()))
    }
    #expect(result.message.contains("have the option \"guarded\""))
  }

  @Test func hugeNumbersAreAllowed() {
    _ = RateLimit(.max, per: .seconds(Int64.max), burst: .max)
    _ = CircuitBreaker(failures: .max, pause: .seconds(Int64.max), trials: .max)
  }
}
