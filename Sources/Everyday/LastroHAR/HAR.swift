// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro

/// An HTTP archive, version 1.2: exchanges in the format that browsers and proxies export and import.
///
/// Fields that the format does not define begin with an underscore, as it requires: the call and attempt of an
/// exchange, the reason for its failure, and its connection. Custom fields of other programs are dropped when an
/// archive is read.
package struct HAR: Codable, Sendable, Hashable {
  /// The content of the archive.
  package var log: Log

  /// Creates an archive of exchanges.
  package init(entries: [Entry]) { log = Log(entries: entries) }

  /// The number of exchanges.
  package var count: Int { log.entries.count }

  /// The version, the creator and the exchanges.
  package struct Log: Codable, Sendable, Hashable {
    /// The version of the format. Default `1.2`.
    package var version = "1.2"
    /// The exporting program.
    package var creator = Creator.lastro
    /// The exchanges, in the order in which they began.
    package var entries: [Entry] = []
    /// A remark.
    package var comment: String?
  }

  /// A program.
  package struct Creator: Codable, Sendable, Hashable {
    /// The name.
    package var name: String
    /// The version.
    package var version: String

    /// This library.
    package static let lastro = Creator(name: "Lastro", version: "1")
  }

  /// Parses JSON.
  ///
  /// - Throws: `ConfigurationError` with the place at which the data is not an HTTP archive.
  package init(json: Data) throws(ConfigurationError) {
    do {
      self = try JSONDecoder().decode(HAR.self, from: json)
    } catch {
      throw ConfigurationError(
        "the data is not an HTTP archive: \(DecodeFailure.line(error))",
        hint: "give JSON by HAR 1.2, with log.version, log.creator and log.entries")
    }
  }

  /// Returns the archive as indented JSON with sorted keys, so that archives can be compared.
  ///
  /// - Throws: `ConfigurationError` if it cannot be written. An archive from a ``HARRecorder`` always can.
  package func json() throws(ConfigurationError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Encode numbers that JSON does not support as strings instead of failing.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    do {
      return try encoder.encode(self)
    } catch {
      throw ConfigurationError(
        "the HTTP archive cannot be written as JSON: \(error)", hint: "check the entries that were added by hand")
    }
  }

  /// The day on which the first exchange was recorded, in days since 1970; `nil` if no exchange has a date.
  package var firstDay: Int? {
    // ISO 8601 sorts by date. The time of day is left out, because its notations vary.
    let days = log.entries.map { $0.startedDateTime.prefix(10) }.sorted()
    for day in days {
      guard let date = try? Date("\(day)T00:00:00Z", strategy: .iso8601) else { continue }
      return Int(date.timeIntervalSince1970 / 86_400)
    }
    return nil
  }
}
