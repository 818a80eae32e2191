// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An HTTP archive, version 1.2: exchanges, in the format that browsers and proxies export and import.
///
/// Fields that the format does not have begin with an underscore, as it wants: the call and attempt of an exchange, why
/// it failed, its connection. What other programs write of their own is dropped when it is read.
public struct HAR: Codable, Sendable, Hashable {
  /// All there is.
  public var log: Log

  /// Makes an archive.
  public init(log: Log = Log()) { self.log = log }

  /// Makes an archive of exchanges.
  public init(entries: [Entry]) { log = Log(entries: entries) }

  /// Version, creator, exchanges.
  public struct Log: Codable, Sendable, Hashable {
    /// Version of the format. Default `1.2`.
    public var version: String
    /// The program that wrote it.
    public var creator: Creator
    /// The exchanges, in the order of their beginning.
    public var entries: [Entry]
    /// A remark.
    public var comment: String?

    /// Makes a log.
    public init(
      version: String = "1.2", creator: Creator = .lastro, entries: [Entry] = [], comment: String? = nil
    ) {
      self.version = version
      self.creator = creator
      self.entries = entries
      self.comment = comment
    }
  }

  /// A program.
  public struct Creator: Codable, Sendable, Hashable {
    /// Its name.
    public var name: String
    /// Its version.
    public var version: String

    /// Names a program.
    public init(name: String, version: String) {
      self.name = name
      self.version = version
    }

    /// This library.
    public static let lastro = Creator(name: "Lastro", version: "1")
  }

  /// Reads JSON.
  ///
  /// - Throws: `ConfigurationError` that says where it is no HTTP archive.
  public init(json: Data) throws(ConfigurationError) {
    do {
      self = try JSONDecoder().decode(HAR.self, from: json)
    } catch {
      throw ConfigurationError(
        "the data is not an HTTP archive: \(DecodeFailure.line(error))",
        hint: "give JSON by HAR 1.2, with log.version, log.creator and log.entries")
    }
  }

  /// The archive as JSON: indented, keys sorted, so that two of them can be compared.
  ///
  /// - Throws: `ConfigurationError` when it cannot be written. An archive that a ``HARRecorder`` made always can.
  public func json() throws(ConfigurationError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Numbers that JSON does not have come out as texts instead of failing.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    do {
      return try encoder.encode(self)
    } catch {
      throw ConfigurationError(
        "the HTTP archive cannot be written as JSON: \(error)", hint: "look at what was put into its entries by hand")
    }
  }
}
