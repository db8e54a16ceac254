import Testing

@testable import churn

/// When the board shows a frame, and what it takes the rate to be.
@Suite struct RateLimiterTests {
  @Test func theFirstFrameDoesNotWait() {
    #expect(RateLimiter(interval: 100).delay(at: 5) == 0)
  }

  @Test func betweenTwoFramesThereIsAtLeastTheInterval() {
    var limiter = RateLimiter(interval: 100)
    limiter.frameWasShown(from: 1_000, to: 1_002)

    #expect(limiter.delay(at: 1_002) == 100)
    #expect(limiter.delay(at: 1_101) == 1)
    #expect(limiter.delay(at: 1_102) == 0)
    #expect(limiter.delay(at: 9_999) == 0)
  }

  @Test func framesThatTakeLongLeaveNineTenthsOfTheTimeToTheReplay() {
    var limiter = RateLimiter(interval: 100)
    limiter.frameWasShown(from: 1_000, to: 1_050)

    #expect(limiter.delay(at: 1_050) == 450)
  }

  @Test func showsAtMostTenFramesASecond() {
    var limiter = RateLimiter(interval: 100_000_000)
    var frames: [UInt64] = []
    for now in stride(from: UInt64(0), to: 3_000_000_000, by: 7_000_000)
    where limiter.delay(at: now) == 0 {
      limiter.frameWasShown(from: now, to: now)
      frames.append(now)
    }

    #expect(frames.count > 20)
    for (one, next) in zip(frames, frames.dropFirst()) { #expect(next - one >= 100_000_000) }
  }

  @Test func theRateIsThatOfTheLastSecond() {
    let second: UInt64 = 1_000_000_000
    var meter = RateMeter(at: 0)
    #expect(meter.rate == 0)
    meter.add(1_000, at: second)
    #expect(meter.rate == 1_000)
    meter.add(1_500, at: second * 3 / 2)
    meter.add(3_000, at: second * 2)

    #expect(meter.rate == 2_000)
    #expect(meter.history == [1_000, 1_000, 3_000])
  }

  @Test func aSampleOfTheSameMomentDoesNotCount() {
    var meter = RateMeter(at: 7)
    meter.add(5, at: 7)

    #expect(meter.rate == 0)
    #expect(meter.history.isEmpty)
  }

  @Test func theHistoryOfRatesIsBounded() {
    var meter = RateMeter(at: 0)
    for time in 1...100 { meter.add(time * time, at: UInt64(time)) }

    #expect(meter.history.count == 20)
    #expect(meter.history.last == 199e9)
  }
}
