// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// A page of the objects in a bucket (`ListObjectsV2`).
public struct S3Listing: Sendable, Hashable {
  /// An object in a bucket.
  public struct Object: Sendable, Hashable {
    /// The key.
    public let key: String
    /// The size in bytes.
    public let size: Int64
    /// The entity tag, with its quotation marks.
    public let eTag: String
  }

  /// The objects of this page, in the order of their keys.
  public let objects: [Object]
  /// The prefixes up to the request's `delimiter`, as folders.
  public let prefixes: [String]
  /// The `continuation-token` of the next page; `nil` on the last one.
  public let nextToken: String?
}

extension ModelDecoding where T == S3Listing, Payload == Data, Metadata == ResourceResponse {
  /// A decoding of `ListObjectsV2`. It fails if an object has no key or size, or a page that is not the last one has no
  /// token of the next.
  public static var s3Listing: Self {
    s3 { root in
      guard root.name == "ListBucketResult" else { return nil }
      return S3Listing(
        objects: try root.all("Contents").map { object in
          S3Listing.Object(
            key: try object.required("Key"), size: try object.required("Size") { Int64($0) }, eTag: object["ETag"] ?? ""
          )
        },
        prefixes: try root.all("CommonPrefixes").map { try $0.required("Prefix") },
        nextToken: try root.nextPage("NextContinuationToken"))
    }
  }
}
