import DispatchStore
import DispatchStorePersistence
import Foundation
import Programs

/// The program that `CrashTest` kills.
///
///     Bank run|check FOLDER [--database PATH] [--pragma P] [--seed S] [--operations N] [--workers N]
///
/// Both open the database, and compare it with the journals of the runs before. `run` then dispatches until it is killed,
/// has done all operations, or has got SIGTERM.
@main
enum Program {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count > 2 else {
      say("usage: Bank run|check FOLDER")
      exit(64)
    }
    let folder = arguments[2]
    let path = argument("--database") ?? "\(folder)/bank.db"
    let settings = SQLiteSettings(pragmas: argument("--pragma").map { [$0] } ?? [])
    let database = PersistenceDatabase.sqlite(path: path, settings: settings)
    do {
      let records = try Records(folder)
      let bank = try await Bank(database)
      say("checked \(audit(bank, records, path))")
      if arguments[1] == "run" {
        let journal = Journal("\(folder)/journal.\(records.runs)")
        let work = Work(
          bank, journal, run: records.runs, seed: UInt64(argument("--seed") ?? "") ?? 1,
          most: Int(argument("--operations") ?? "") ?? .max)
        let signals = await endAtSIGTERM(work)
        say("ready")
        if let failure = await work.run(Int(argument("--workers") ?? "") ?? 10) {
          say("failed \(failure)")
          exit(2)
        }
        _ = signals
      }
      await bank.dispatcher.drain(timeout: .seconds(20))
      try await bank.persistence.close()
      say("closed")
    } catch {
      say("error \(error)")
      exit(3)
    }
  }

  /// Ends the work at SIGTERM; until this has returned, SIGTERM ends the process.
  private static func endAtSIGTERM(_ work: Work) async -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: SIGTERM)
    source.setEventHandler { work.end() }
    await withCheckedContinuation { listens in
      source.setRegistrationHandler { listens.resume() }
      source.resume()
    }
    return source
  }
}
