import DispatchStore
import DispatchStoreInspector
import Foundation

/// The file to which the last actions of a replay are written, as its name says.
struct RecordedReplay {
  /// The number of actions that are kept.
  static let limit = 100_000

  /// What is written, by the ending of the file's name.
  enum Form: String, Sendable {
    /// A page for a browser.
    case html
    /// JSON lines, for `DispatchLog(jsonLines:)`.
    case jsonl
    /// A trace for Perfetto.
    case json

    /// Nil if there is no such ending.
    init?(path: String) {
      guard let dot = path.lastIndex(of: ".") else { return nil }
      self.init(rawValue: String(path[path.index(after: dot)...]))
    }
  }

  let recorder = DispatchRecorder(limit: Self.limit)
  private let path: String
  private let form: Form
  let descriptor: Descriptor

  /// Opens the file, so that a name that can't be written is known before the replay.
  init(_ record: Options.Record) throws(Failure) {
    (path, form) = (record.path, record.form)
    do {
      descriptor = try Descriptor.writing(path)
    } catch {
      throw Failure(.cannotCreate, "cannot make the file for the record, '\(path)': \(error)")
    }
  }

  /// Writes the file.
  ///
  /// - Returns: A line that says which file was written.
  func write() throws(Failure) -> String {
    let log = recorder.log
    let data: Data
    do {
      data =
        switch form {
        case .html: Data(log.html().utf8)
        case .jsonl: try log.jsonLines()
        case .json: log.chromeTrace()
        }
    } catch {
      throw Failure(.software, "cannot encode the record: \(error)")
    }
    do throws(SystemError) {
      try descriptor.truncate()
      try descriptor.write([UInt8](data).span)
    } catch {
      throw Failure(.ioError, "cannot write the record to '\(path)': \(error)")
    }
    let dropped =
      log.droppedCount > 0 ? ", the last of \(log.droppedCount + log.entries.count)" : ""
    return "recorded \(Numbers.counted(log.entries.count, "action"))\(dropped) in \(path)"
  }
}
