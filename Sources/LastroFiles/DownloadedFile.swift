// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A file that was downloaded: all of it is there, under its name, and outlasts a loss of power.
public struct DownloadedFile: Sendable {
  /// The file's path.
  public var path: String
  /// Its length in bytes.
  public var length: Int64
  /// The digests that it was checked against, such as `SHA-256 9f86…`. Empty where neither the caller nor the server
  /// named one.
  public var verified: [String] = []
  /// The number of bytes that an earlier download had left.
  public var resumedFrom: Int64 = 0
  /// The number of requests of this call that the server responded to: the first one, one after each loss or change of
  /// the file, and one for each part that came at the same time. Redirects and the attempts of an interceptor count as
  /// one request. 0 where all was there.
  public var requests = 0
  /// The number of restarts because the server had something else.
  public var restarts = 0
  /// The number of parts that were received at the same time.
  public var segments = 1
  /// `ETag` of what it is, as the server sent it.
  public var entityTag: String?
  /// `Content-Type`, as the server sent it.
  public var contentType: String?
  /// What the bytes are coded in, such as `gzip`, where the server coded them although no coding was asked for. They
  /// are stored as they came.
  public var contentEncoding: String?
  /// A name that the server offers for the file (`Content-Disposition`, RFC 6266), cleaned: without folders, control
  /// characters and leading dots, 255 bytes at most. It is never used by itself.
  public var offeredName: String?
  /// The reason why this download could not have been resumed after a loss, such as a weak `ETag`; `nil` where it could
  /// have been.
  public var resumeObstacle: String?
  /// The last answer; `nil` where nothing had to be asked.
  public var response: ResourceResponse?
}
