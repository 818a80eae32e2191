// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// How a file is downloaded.
///
/// ```swift
/// var options = DownloadOptions()
/// options.replaces = true
/// options.digest = .sha256("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
/// let file = try await stack.download(.get("https://example.org/image.iso"), to: "/srv/image.iso", options: options)
/// ```
public struct DownloadOptions: Sendable {
  /// What follows when the server has something else than what the first bytes are of, or sends or serves only all of
  /// it where the rest was asked for.
  public enum ChangePolicy: Sendable, Hashable {
    /// The download starts over, so often at most.
    case restart(limit: Int)
    /// The download fails with `resume_mismatch`, and what came is removed.
    case fail
  }

  /// Whether it goes on where an earlier download of the same to the same path was cut, also of another process, and
  /// keeps what came where it is cut itself. Default true.
  ///
  /// Where nothing proves that the rest would belong to what is there, a download starts over anyway: without a strong
  /// `ETag`, and without a `Last-Modified` that is a second older than `Date` (RFC 9110 §8.8.2.2, §13.1.5), or 60 s
  /// older than the time of receipt where there is no `Date` (§6.6.1); where the server says `Accept-Ranges: none`; and
  /// where the body has a content coding, which was not asked for. ``DownloadedFile/resumeObstacle`` says which.
  ///
  /// Where the server's answer to a range cannot be used, the whole file is requested once in a call. What is there is
  /// kept until the server sends the whole.
  public var resumes = true
  /// What follows when the server has something else. Default: it starts over, 3 times at most.
  public var onChange: ChangePolicy = .restart(limit: 3)
  /// What the file has to be. Default `nil`: what the server says in `Repr-Digest` (RFC 9530), where it does.
  public var digest: ExpectedDigest?
  /// How many parts are downloaded at the same time, from 1 to 4. Default 1.
  ///
  /// More than one helps where a server limits each connection; over HTTP/2 all share one, and nothing is gained. It
  /// takes ``resumes``, a server with ranges and a strong `ETag`, and a file of 64 MiB or more; else there is one part.
  public var segments = 1
  /// Whether a file at the path is replaced, at once, when all is there. Default false: then the download fails before
  /// anything is sent, with `file_exists`.
  public var replaces = false
  /// Most bytes of the file. Default `nil`: no limit.
  public var maximumBytes: Int64?
  /// Names what is downloaded, in place of its URL, for another process to go on: for URLs that carry a signature, and
  /// so are never the same. Default `nil`: the URL does.
  public var identity: String?
  /// Decides about a further request after a loss. It is asked with the losses before this one since the last byte that
  /// came: each byte more resets their count. Default: the standard policy, which retries twice.
  ///
  /// It also retries requests that fail before their answer, as a `RetryInterceptor` of the resource.
  public var retries: HTTPRetryPolicy = .standard
  /// Is told how many bytes of the file are there, and how many it will have; the count goes on where an earlier
  /// download was cut. Default `nil`.
  public var progress: TransferProgressReporter?
  /// Where the times of waits and syncs come from. Default: the continuous clock.
  public var timeSource: TimeSource = .continuous

  /// The files it works with.
  var files: any FileLayer = SystemFiles()
  /// A segment is not made smaller than this; the whole has four times as much.
  var leastSegmentBytes: Int64 = 16 << 20
  /// What is written is synced after so many bytes.
  var bytesPerSync: Int64 = 16 << 20

  /// Makes the default options.
  public init() {}

  /// - Throws: a refusal of what makes no sense.
  func check() throws(TransportError) {
    if case .restart(let limit) = onChange, limit < 0 {
      throw .refused(.invalidOption, "a download cannot start over \(limit) times", hint: "give 0 or more, or .fail")
    }
    guard (1...4).contains(segments) else {
      throw .refused(
        .invalidOption, "\(segments) segments are out of range (1…4)", hint: "1 is right for most servers")
    }
    if let maximumBytes, maximumBytes < 0 {
      throw .refused(.invalidOption, "maximumBytes is \(maximumBytes), below the minimum of 0", hint: "give 0 or more")
    }
    try digest?.check()
  }
}
