import Testing

@testable import churn

/// How latencies are counted.
@Suite struct LatencyHistogramTests {
  @Test func countsEveryDurationToOnePercent() {
    for exponent in 0..<41 {
      for offset in [0, 1, 77] as [UInt64] {
        let duration = (1 << exponent) + (offset << exponent) / 100
        var histogram = LatencyHistogram()
        histogram.record(duration)
        histogram.record(.max)
        let counted = histogram.quantile(0.5)
        #expect(counted >= duration)
        #expect(Double(counted - duration) <= Double(duration) * 0.01)
      }
    }
  }

  @Test func findsQuantilesOfMany() {
    var histogram = LatencyHistogram()
    for duration in 1...1000 as ClosedRange<UInt64> { histogram.record(duration * 100) }

    for (share, exact) in [(0.5, 50_000.0), (0.99, 99_000), (0.999, 99_900), (1, 100_000)] {
      let counted = Double(histogram.quantile(share))
      #expect(counted >= exact && counted <= exact * 1.01, "\(share)")
    }
    #expect(histogram.count == 1000)
  }

  @Test func neverReturnsMoreThanTheLongest() {
    var histogram = LatencyHistogram()
    histogram.record(100_001)

    #expect(histogram.quantile(0.999) == 100_001)
  }

  @Test func returnsZeroWithoutDurations() {
    #expect(LatencyHistogram().quantile(0.5) == 0)
  }

  @Test func mergedIsAsIfRecordedTogether() {
    var one = LatencyHistogram()
    var other = LatencyHistogram()
    var both = LatencyHistogram()
    for duration in 0..<500 as Range<UInt64> {
      if duration.isMultiple(of: 3) { one.record(duration * 7) } else { other.record(duration * 7) }
      both.record(duration * 7)
    }

    one.merge(other)

    #expect(one == both)
  }
}
