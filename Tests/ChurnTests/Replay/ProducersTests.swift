import Testing

@testable import churn

/// How a batch is split among the threads that dispatch it.
@Suite(.timeLimit(.minutes(10))) struct ProducersTests {
  private func batch() throws -> [Event] {
    var events: [Event] = []
    try TestLog.contested(commits: 200).batches(copies: 3).forEach { events += $0 }
    return events
  }

  @Test(arguments: [1, 2, 5, 64]) func everyEventHasOneProducer(count: Int) throws {
    let batch = try batch()
    let shares = Producers(count: count).split(batch)

    #expect(shares.count == count)
    #expect(shares.joined().sorted() == Array(batch.indices))
  }

  @Test(arguments: [2, 5, 64])
  func whatSharesALaneHasOneProducerAndKeepsItsOrder(count: Int) throws {
    let batch = try batch()
    var producers: [String: Set<Int>] = [:]
    for (producer, share) in Producers(count: count).split(batch).enumerated() {
      #expect(share == share.sorted())
      for place in share {
        let lane =
          switch batch[place] {
          case .changed(let change): "path \(change.path)"
          case .committed(let commit): "author \(commit.author)"
          }
        producers[lane, default: []].insert(producer)
      }
    }

    #expect(producers.values.allSatisfy { $0.count == 1 })
    #expect(Set(producers.values).count > 1)
  }

  @Test(arguments: [1, 4]) func returnsWhenAllSharesHaveBeenWorkedOn(count: Int) async {
    let shares = (0..<count).map { Array(0...$0) }

    let worked = await onOwnThread {
      let outcome = ReplayOutcome()
      Producers(count: count).run(shares) { outcome.record(UInt64($0.count)) }
      return outcome.latencies
    }

    #expect((0..<count).allSatisfy { worked.quantile(Double($0 + 1) / Double(count)) == $0 + 1 })
  }
}
