// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
public import Lastro
internal import LastroHAR
internal import LastroSupport

/// A transport that records the exchanges of a test in a file when the file is missing, and replays them afterwards.
///
/// ```swift
/// let cassette = try Cassette("Fixtures/octocat.har") { try CurlNetworkStack().engine }
/// let stack = TransportNetworkStack(transport: cassette)
/// ```
///
/// The first run sends its requests, and writes every complete response to the file, including streams of events. Later
/// runs open no connection. Requests match by method, URL and body; equal requests get their responses in the recorded
/// order, each once. A request that is not in the file fails with stage `request`, code `not_recorded`, and a message
/// that names the nearest recorded one. Delete the file to record again.
///
/// The file is an HTTP archive (HAR 1.2), which browsers and `lastro mock` read. It is replaced atomically after each
/// exchange, with mode 0600. It has at most 16 MiB, and at most 1 MiB of each body. Secrets are masked as in logs: the
/// values of secret names in URLs, header fields, cookies and bodies, and the secrets of requests. A masked text matches
/// any text, and stays masked in responses.
///
/// Failures are not recorded: a request without a response fails again if it is missing from the file. Use one file per
/// test, because tests that record into the same file replace each other's exchanges.
public final class Cassette: Transport {
  /// The handling of a missing or expired file.
  public enum Mode: Sendable, Hashable {
    /// Records a missing or expired file.
    case recordWhenMissing
    /// Sends nothing. A missing or expired file is an error.
    case replayOnly

    /// The mode ``replayOnly`` if the environment variable `CI` is set, to neither `false` nor `0`; otherwise
    /// ``recordWhenMissing``.
    public static var fromEnvironment: Mode { Mode(variable: ProcessInfo.processInfo.environment["CI"]) }

    init(variable value: String?) {
      self = ["", "0", "false"].contains(value?.lowercased() ?? "") ? .recordWhenMissing : .replayOnly
    }
  }

  private let transport: Either

  private enum Either {
    case player(HARPlayer)
    case recorder(RecordingTransport)
  }

  /// The age of the oldest exchange in whole days; `nil` while recording, or if the file has no dates. With it, a test
  /// can warn about an old file instead of failing.
  public let ageInDays: Int?
  /// Whether requests are sent and recorded.
  public var isRecording: Bool { if case .recorder = transport { true } else { false } }

  /// Opens a file, or prepares to record it.
  ///
  /// - Parameters:
  ///   - path: the path of the file. A relative path begins at the folder of `sourceFile`. Missing folders are created
  ///     when the first exchange is recorded.
  ///   - mode: the handling of a missing or expired file. Default ``Mode/fromEnvironment``.
  ///   - days: the age in days above which the file has expired. Default `nil`: it never does.
  ///   - ignoresQueryOrder: whether the items of a query match in any order. Default false.
  ///   - comparesBodies: whether the bodies of requests must match. JSON is compared by value; a body from a file or a
  ///     stream matches any recorded body. Default true.
  ///   - names: further names of header fields, query items, and keys of JSON and form bodies, whose values are masked.
  ///     Default none.
  ///   - time: the time source for dates and for deadlines of requests. Default: the system's clock.
  ///   - sourceFile: the source file of the test. Default: that of the call.
  ///   - engine: returns the transport that sends the requests while recording. It is called at most once, and not for
  ///     a replay.
  /// - Throws: `ConfigurationError` if the file is not a readable HTTP archive, or if nothing may be recorded and the
  ///   file is missing or has expired; the errors of `engine`.
  public init(
    _ path: String, mode: Mode = .fromEnvironment, expiresAfterDays days: Int? = nil, ignoresQueryOrder: Bool = false,
    comparesBodies: Bool = true, masking names: [String] = [], time: TimeSource = .continuous,
    sourceFile: String = #filePath, recording engine: () throws(ConfigurationError) -> any Transport
  ) throws(ConfigurationError) {
    let file = CassetteFile(path, besides: sourceFile)
    let redaction = Self.redaction(masking: names)
    let archive = try file.read()
    let today = Int(time.sinceEpoch() / .seconds(86_400))
    let age = archive?.firstDay.map { max(0, today - $0) }
    let hasExpired = if let days, let age { age > days } else { false }
    if let archive, !hasExpired {
      ageInDays = age
      transport = .player(
        HARPlayer(
          archive, order: .any,
          matcher: HARMatcher(comparesBody: comparesBodies, ignoresQueryOrder: ignoresQueryOrder),
          texts: file.texts, redaction: redaction, time: time))
      return
    }
    guard mode == .recordWhenMissing else { throw file.refusal(age: age, limit: days) }
    ageInDays = nil
    transport = .recorder(
      RecordingTransport(
        over: try engine(), redaction: redaction, maximumBodyBytes: 1 << 20, time: time
      ) { (archive) throws(TransportError) in try file.write(archive) })
  }

  private static func redaction(masking names: [String]) -> Redaction {
    var options = RequestOptions()
    options.sensitiveHeaders = Set(names.compactMap { HTTPField.Name($0) })
    options.sensitiveQueryItems = Set(names)
    return Redaction.standard.adding(options)
  }

  /// Returns the recorded response to a request, or sends and records it.
  ///
  /// - Throws: code `not_recorded` or `incomplete_recording` while replaying; while recording, the errors of the engine,
  ///   and code `incomplete_recording` if the file cannot be written, or a response switches protocols; stage `timeout`
  ///   if a streamed body of the request does not end before the request's deadline; the cancelled error.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    switch transport {
    case .player(let player): try await player.execute(request)
    case .recorder(let recorder): try await recorder.execute(request)
    }
  }

  /// Returns what the engine would do while recording; nothing while replaying.
  public func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    if case .recorder(let recorder) = transport { recorder.explain(request) } else { [] }
  }
}
