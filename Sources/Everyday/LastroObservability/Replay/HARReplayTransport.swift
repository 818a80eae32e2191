// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
public import Lastro
package import LastroHAR
internal import LastroSupport

/// A transport without a network: it responds from an HTTP archive of a ``HARRecorder`` or a browser.
///
/// ```swift
/// let transport = try HARReplayTransport(contentsOfFile: "Fixtures/login.har")
/// let stack = TransportNetworkStack(transport: transport)
/// ```
///
/// Responses and failures are returned as recorded, without delay. A text that was masked in the recording (`***`)
/// matches any text; in responses it stays masked. A request that is not in the archive fails with stage `request`,
/// code `not_recorded`, and a message that names the nearest exchange. An exchange whose body was not fully recorded
/// fails with code `incomplete_recording`.
public final class HARReplayTransport: Transport {
  /// The properties that a request must share with a recorded one.
  public enum Matching: Sendable, Hashable {
    /// The exchanges are replayed in order, each once. Method, URL, the selected header fields and the body must match.
    /// JSON bodies are compared by value. A body from a file or stream matches any recorded body.
    case strict
    /// Method and URL must match, in any order. Several matching exchanges are replayed in turn, and the last one
    /// repeatedly.
    case loose
  }

  private let player: HARPlayer
  private let received = Lock<[TransferRequest]>([])

  /// Creates a transport that replays an archive.
  ///
  /// - Parameters:
  ///   - har: the archive with the exchanges.
  ///   - matching: the properties to compare. Default ``Matching/strict``.
  ///   - headers: the names of the header fields that strict matching compares. Default: none.
  ///   - time: the time source for the deadlines of requests. Default: the system's clock.
  package init(
    _ har: HAR, matching: Matching = .strict, headers: Set<HTTPField.Name> = [], time: TimeSource = .continuous
  ) {
    let isStrict = matching == .strict
    player = HARPlayer(
      har, order: isStrict ? .recorded : .anyRepeatingLast,
      matcher: HARMatcher(headers: isStrict ? headers : [], comparesBody: isStrict),
      texts: HARPlayer.Texts(
        name: "the archive",
        notRecordedHint: isStrict
          ? "record again, or replay with matching: .loose" : "record an exchange like it, or correct the request",
        incompleteHint: "record it with a higher maximumBodyBytes of the HARRecorder, and not as a stream"),
      time: time)
  }

  /// Creates a transport that replays an archive.
  ///
  /// - Parameters:
  ///   - data: the JSON of the archive, as ``HARRecorder/har(forCall:)`` or a browser writes it.
  ///   - matching: the properties to compare. Default ``Matching/strict``.
  ///   - headers: the names of the header fields that strict matching compares. Default: none.
  ///   - time: the time source for the deadlines of requests. Default: the system's clock.
  /// - Throws: `ConfigurationError` with the place at which the data is not an HTTP archive.
  public convenience init(
    json data: Data, matching: Matching = .strict, headers: Set<HTTPField.Name> = [], time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    self.init(try HAR(json: data), matching: matching, headers: headers, time: time)
  }

  /// Creates a transport that replays the archive in a file.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - matching: the properties to compare. Default ``Matching/strict``.
  ///   - headers: the names of the header fields that strict matching compares. Default: none.
  ///   - time: the time source for the deadlines of requests. Default: the system's clock.
  /// - Throws: `ConfigurationError` if the file cannot be read, or is not an HTTP archive.
  public convenience init(
    contentsOfFile path: String, matching: Matching = .strict, headers: Set<HTTPField.Name> = [],
    time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw ConfigurationError(
        "the HTTP archive \(path) cannot be read", hint: "check that the file exists and may be read")
    }
    let har: HAR
    do throws(ConfigurationError) {
      har = try HAR(json: data)
    } catch {
      throw ConfigurationError("\(path): \(error.message)", hint: error.hint)
    }
    self.init(har, matching: matching, headers: headers, time: time)
  }

  /// The received requests, in order of arrival.
  package var requests: [TransferRequest] { received.withLock { $0 } }

  /// The number of exchanges that no request has used.
  public var remainingEntries: Int { player.remainingEntries }

  /// Returns the recorded response to a request.
  ///
  /// - Throws: the recorded failure; code `not_recorded` or `incomplete_recording`; stage `timeout` if a streamed body
  ///   of the request does not end before the request's deadline; the cancelled error.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    received.withLock { $0.append(request) }
    return try await player.execute(request)
  }
}
