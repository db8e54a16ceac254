#if PostgreSQL
  import CPostgreSQL
  import DispatchStore
  import Foundation

  final class LibPQResult: PostgreSQLResult {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { PQclear(handle) }

    var status: ExecStatusType { PQresultStatus(handle) }
    /// The name of the command that the server has run; for the COMMIT of a failed transaction, that of another one.
    var commandTag: String { String(cString: PQcmdStatus(handle)) }
    var rowCount: Int { Int(PQntuples(handle)) }
    var changedCount: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }
    /// The server's error code.
    var sqlState: String {
      PQresultErrorField(handle, Int32(UInt8(ascii: "C"))).map { String(cString: $0) } ?? ""
    }

    private func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
      let (row, column) = (Int32(row), Int32(column))
      if PQgetisnull(handle, row, column) == 1 { return nil }
      return UnsafeRawBufferPointer(
        start: PQgetvalue(handle, row, column), count: Int(PQgetlength(handle, row, column)))
    }

    func text(_ row: Int, _ column: Int) -> String {
      bytes(row, column).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    func data(_ row: Int, _ column: Int) -> Data? { bytes(row, column).map { Data($0) } }

    /// The server's message, without a trailing line break.
    var message: String {
      PQresultErrorField(handle, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
        ?? String(cString: PQresultErrorMessage(handle))
        .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func values(_ row: Int) -> [DatabaseValue] {
      (0..<Int(PQnfields(handle))).map { value(row, $0) }
    }

    /// The value of a column that was sent as text.
    private func value(_ row: Int, _ column: Int) -> DatabaseValue {
      guard let bytes = bytes(row, column) else { return .null }
      let text = String(decoding: bytes, as: UTF8.self)
      switch PQftype(handle, Int32(column)) {
      case 16: return .integer(text == "t" ? 1 : 0)
      case 17: return .blob(Data(escaped: PQgetvalue(handle, Int32(row), Int32(column))))
      case 20, 21, 23, 26: return Int64(text).map(DatabaseValue.integer) ?? .text(text)
      case 700, 701: return Double(text).map(DatabaseValue.real) ?? .text(text)
      // A sum of integers has this type, too.
      case 1700:
        return Int64(text).map(DatabaseValue.integer) ?? Double(text).map(DatabaseValue.real)
          ?? .text(text)
      default: return .text(text)
      }
    }
  }

  extension Data {
    /// Reads bytes that were sent as text, in either format of the setting `bytea_output`.
    fileprivate init(escaped text: UnsafeMutablePointer<CChar>) {
      var count = 0
      let bytes = text.withMemoryRebound(to: UInt8.self, capacity: strlen(text) + 1) {
        PQunescapeBytea($0, &count)
      }
      self.init(bytes: bytes!, count: count)
      PQfreemem(bytes)
    }
  }
#endif
