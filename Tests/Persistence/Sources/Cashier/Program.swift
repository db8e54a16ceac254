import Foundation
import Programs

/// Kills a payment service again and again, and checks that nothing was lost or done twice.
///
///     Cashier [--kills N] [--seed S] [--folder F] [--postgresql [--pooler] [--kind KIND]]
///
/// `Cashier serve DATABASE [--tick] [--lease MS]` is the service. After 30 rounds at most all is finished and checked, and
/// there is a new database. A failure leaves its folder. With `--postgresql`, it starts a server of its own, and the
/// databases' rounds are of each kind in turn, or of one kind. With `--pooler`, pgbouncer stands before the server.
@main
enum Program {
  private static let killsPerDatabase = 30
  private static var kinds: [Kind] {
    argument("--kind").map { [Kind(rawValue: $0)!] } ?? Kind.allCases
  }

  private static func has(_ name: String) -> Bool { CommandLine.arguments.contains(name) }

  static func main() async throws {
    if let database = argument("serve") {
      let lease = Duration.milliseconds(Int(argument("--lease") ?? "") ?? 5_000)
      do {
        return try await Service.run(
          database, lease: lease, declaresTick: has("--tick"))
      } catch {
        end("\(error)")
      }
    }
    signal(SIGPIPE, SIG_IGN)
    killServices(Int(argument("--kills") ?? "") ?? 60, seed: UInt64(argument("--seed") ?? "") ?? 1)
  }

  private static func killServices(_ kills: Int, seed: UInt64) {
    let folder = argument("--folder") ?? "\(NSTemporaryDirectory())/cashier"
    let cluster = has("--postgresql") ? startCluster() : nil
    defer { cluster?.remove() }
    let kinds = cluster == nil ? [.killed] : kinds
    let roundsPerDatabase = max(min(killsPerDatabase, kills / kinds.count), 1)
    var (done, drained, acknowledged, databases) = (0, 0, 0, 0)
    var (orders, charges, reminders, ticks) = (0, 0, 0, 0)
    var (pauses, counts) = (Pauses(), [Driver.Count: Int]())
    while done < kills {
      let databaseSeed = seed &* 1_000_003 &+ UInt64(done)
      let place: ServiceDatabase
      do {
        place = try makePlace(in: folder, on: cluster, number: databases)
      } catch {
        end("\(error)")
      }
      let kind = kinds[databases % kinds.count]
      databases += 1
      var driver = Driver(place, kind, seed: databaseSeed)
      do {
        var random = SeededGenerator(seed: databaseSeed ^ 0x5555)
        let most = min(done + roundsPerDatabase, kills)
        while done < most, !driver.hasGoneBack {
          let end = kind.drawEnd(&random)
          driver.lines.append("\(kind): \(end)")
          try driver.run(until: end)
          if case .drain = end { drained += 1 } else { done += 1 }
        }
        if !driver.hasGoneBack {
          try driver.run(until: .settled)
          try driver.run(until: .finish)
          try driver.audit()
        }
        driver.killAll()
        try place.remove()
      } catch {
        say("Round \(done + 1) of seed \(seed), \(kind), was not survived, in \(folder):")
        for line in driver.lines.suffix(200) { print("  \(line)") }
        print("  wrong: \(error)")
        driver.killAll()
        cluster?.remove()
        exit(1)
      }
      note("\(done) of \(kills) kills, the last ones \(kind)")
      acknowledged += driver.acknowledged
      (orders, charges) = (orders + driver.orderCount, charges + driver.charges)
      (reminders, ticks) = (reminders + driver.reminded, ticks + driver.ticks)
      pauses.add(driver.pauses)
      counts.merge(driver.counts, uniquingKeysWith: +)
    }
    say(
      "\(orders) orders, \(charges) charges, \(reminders) reminders, \(ticks) ticks, \(drained) drains"
    )
    if let cluster {
      say(Driver.Count.allCases.map { "\($0) \(counts[$0] ?? 0)" }.joined(separator: ", "))
      say(
        "\(cluster.restarts) restarts, \(cluster.replacements) copies took over, \(cluster.proxy.summary)"
      )
      for line in pauses.lines { say(line) }
    }
    say("\(done) of \(kills) kills survived, \(acknowledged) acknowledged operations checked")
    try? FileManager.default.removeItem(atPath: folder)
  }

  private static func makePlace(
    in folder: String, on cluster: Cluster?, number: Int
  ) throws -> ServiceDatabase {
    if let cluster { return try ServiceDatabase(on: cluster, named: "cashier_\(number)") }
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return ServiceDatabase(file: "\(folder)/cashier.db")
  }

  private static func startCluster() -> Cluster {
    do {
      return try Cluster(isPooled: has("--pooler"))
    } catch {
      end("\(error)")
    }
  }
}
