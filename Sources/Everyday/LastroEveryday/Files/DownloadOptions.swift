// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The options of a download to a file.
///
/// ```swift
/// var options = DownloadOptions()
/// options.replaces = true
/// options.digest = .sha256("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
/// let file = try await stack.download(.get("https://example.org/image.iso"), to: "/srv/image.iso", options: options)
/// ```
public struct DownloadOptions: Sendable {
  /// The reaction to a changed file: the server's representation differs from that of the bytes on disk, or the server
  /// sends or serves only the whole file when the rest is requested.
  public enum ChangePolicy: Sendable, Hashable {
    /// The download starts over, at most `limit` times.
    case restart(limit: Int)
    /// The download fails with `resume_mismatch`, and the received bytes are removed.
    case fail
  }

  /// Whether the download resumes an interrupted download of the same resource to the same path, even of another
  /// process, and keeps its own bytes if it is interrupted. Default true.
  ///
  /// A download starts over anyway if nothing proves that the rest belongs to the bytes on disk. This is so without a
  /// strong `ETag` or a usable `Last-Modified`, which must be at least a second older than `Date` (RFC 9110 §8.8.2.2,
  /// §13.1.5), or 60 s older than the time of receipt if there is no `Date` (§6.6.1). It is also so if the server sends
  /// `Accept-Ranges: none`, or the body has a content coding that was not requested. ``DownloadedFile/resumeObstacle``
  /// names the reason.
  ///
  /// If the server's response to a range is unusable, the whole file is requested, once per call. The bytes on disk are
  /// kept until the server sends the whole file.
  public var resumes = true
  /// The reaction to a changed file. Default: the download starts over, at most 3 times.
  public var onChange: ChangePolicy = .restart(limit: 3)
  /// The digest that the file must have. Default `nil`: the digest in the server's `Repr-Digest` (RFC 9530), if it
  /// sends one.
  public var digest: ExpectedDigest?
  /// The number of segments downloaded at the same time, from 1 to 4. Default 1.
  ///
  /// More segments help if a server limits the speed of each connection; over HTTP/2 all share one connection, and
  /// nothing is gained. Several segments require ``resumes``, a server with ranges and a strong `ETag`, and a file of
  /// at least 64 MiB; otherwise one request is used.
  public var segments = 1
  /// Whether an existing file at the path is replaced, atomically, once the download is complete. Default false: then
  /// the download fails with `file_exists` before a request is sent.
  public var replaces = false
  /// The maximum size of the file in bytes. Default `nil`: no limit.
  public var maximumBytes: Int64?
  /// A name for the downloaded resource, by which another process can resume the download, instead of its URL: for URLs
  /// that contain a signature and so differ each time. Default `nil`: the URL is the name.
  public var identity: String?
  /// The policy that decides whether to send another request after a loss. It gets the consecutive losses since the
  /// last progress: each byte received resets their count. Default: the standard policy, which retries twice.
  ///
  /// The policy also retries requests that fail before their response, as a `RetryInterceptor` of the resource.
  public var retries: HTTPRetryPolicy = .standard
  /// A reporter of the number of bytes on disk and of the file's length; the count includes the bytes of a resumed
  /// download. Default `nil`.
  public var progress: TransferProgressReporter?
  /// The clock for waits and syncs. Default: the continuous clock.
  public var timeSource: TimeSource = .continuous

  /// The file system.
  var files: any FileLayer = SystemFiles()
  /// The minimum size of a segment. Files smaller than four times this size are downloaded by one request.
  var leastSegmentBytes: Int64 = 16 << 20
  /// The number of written bytes after which the file is synced.
  var bytesPerSync: Int64 = 16 << 20

  /// Creates the default options.
  public init() {}

  /// - Throws: a refusal of invalid options.
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
