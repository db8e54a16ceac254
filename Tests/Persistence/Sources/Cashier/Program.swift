import Foundation
import PostgreSQLServer

/// Kills a payment service again and again, and checks that nothing was lost or done twice.
///
///     Cashier [--kills N] [--seed S] [--folder F] [--postgresql]
///
/// `Cashier serve DATABASE [--tick]` is the service. After 30 kills all is finished and checked, and there is a new
/// database. A failure leaves its folder. With `--postgresql`, it starts a server of its own, which crashes, too.
@main
enum Program {
  private static let killsPerDatabase = 30

  private static func value(_ name: String) -> String? {
    let arguments = CommandLine.arguments
    return arguments.firstIndex(of: name).flatMap {
      $0 + 1 < arguments.count ? arguments[$0 + 1] : nil
    }
  }

  static func main() async throws {
    if let database = value("serve") {
      let declaresTick = CommandLine.arguments.contains("--tick")
      do {
        return try await Service(database, declaresTick: declaresTick).serve()
      } catch {
        end("\(error)")
      }
    }
    signal(SIGPIPE, SIG_IGN)
    killServices(Int(value("--kills") ?? "") ?? 60, seed: UInt64(value("--seed") ?? "") ?? 1)
  }

  private static func killServices(_ kills: Int, seed: UInt64) {
    let folder = value("--folder") ?? "\(NSTemporaryDirectory())/cashier"
    let server = CommandLine.arguments.contains("--postgresql") ? startServer() : nil
    defer { stop(server) }
    var (done, drained, acknowledged) = (0, 0, 0)
    var (orders, charges, reminders, ticks) = (0, 0, 0, 0)
    while done < kills {
      let databaseSeed = seed &* 1_000_003 &+ UInt64(done)
      let place: ServiceDatabase
      do {
        place = try makePlace(in: folder, on: server, number: done)
      } catch {
        end("\(error)")
      }
      var driver = Driver(place, seed: databaseSeed)
      do {
        var random = Generator(state: databaseSeed ^ 0x5555)
        let most = min(done + killsPerDatabase, kills)
        while done < most {
          let end = drawEnd(&random)
          try driver.run(until: end)
          if case .drain = end { drained += 1 } else { done += 1 }
        }
        try driver.run(until: .finish)
        try driver.audit()
        try place.remove()
      } catch {
        say("Kill \(done + 1) of seed \(seed) was not survived, in \(folder):")
        for line in driver.lines.suffix(20) { print("  \(line)") }
        print("  wrong: \(error)")
        try? server?.stop("immediate")
        exit(1)
      }
      acknowledged += driver.acknowledged
      (orders, charges) = (orders + driver.orderCount, charges + driver.charges)
      (reminders, ticks) = (reminders + driver.reminded, ticks + driver.ticks)
    }
    say(
      "\(orders) orders, \(charges) charges, \(reminders) reminders, \(ticks) ticks, \(drained) drains"
    )
    say("\(done) of \(kills) kills survived, \(acknowledged) acknowledged operations checked")
    try? FileManager.default.removeItem(atPath: folder)
  }

  private static func makePlace(
    in folder: String, on server: PostgreSQLServer?, number: Int
  ) throws -> ServiceDatabase {
    if let server { return try ServiceDatabase(on: server, named: "cashier_\(number)") }
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return ServiceDatabase(file: "\(folder)/cashier.db")
  }

  private static func startServer() -> PostgreSQLServer {
    let folder = FileManager.default.temporaryDirectory.appending(path: "cashier-\(UUID())").path
    do {
      let server = try PostgreSQLServer(in: folder)
      try server.start()
      return server
    } catch {
      end("\(error)")
    }
  }

  private static func stop(_ server: PostgreSQLServer?) {
    guard let server else { return }
    try? server.stop("immediate")
    try? FileManager.default.removeItem(atPath: server.folder)
  }

  private static func drawEnd(_ random: inout Generator) -> Driver.End {
    switch Int.random(in: 0..<16, using: &random) {
    case 0...1: .early(.microseconds(Int.random(in: 0...60_000, using: &random)))
    case 2...7: .time(.microseconds(Int.random(in: 0...300_000, using: &random)))
    case 8...14: .line(Int.random(in: 2...400, using: &random))
    default: .drain(Int.random(in: 2...100, using: &random))
    }
  }
}
