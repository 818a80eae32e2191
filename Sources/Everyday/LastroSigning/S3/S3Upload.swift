// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// An upload in parts (`CreateMultipartUpload`, `ListParts`).
public struct S3Upload: Sendable, Hashable {
  /// A part that the server has.
  public struct Part: Sendable, Hashable {
    /// The number of the part, from 1.
    public let number: Int
    /// The entity tag, with its quotation marks.
    public let eTag: String
    /// The size in bytes; `nil` for a part that was not listed.
    public let size: Int64?

    /// Makes a part of the number that it was sent with and the `ETag` of the response.
    public init(number: Int, eTag: String) {
      self.number = number
      self.eTag = eTag
      size = nil
    }

    init(_ element: XMLReader.Element) throws(XMLReader.Violation) {
      number = try element.required("PartNumber") { Int($0) }
      eTag = try element.required("ETag")
      size = element["Size"].flatMap { Int64($0) }
    }
  }

  /// The identifier of the upload, which its requests have as `uploadId`.
  public let id: String
  /// The parts that were listed, in the order of their numbers.
  public let parts: [Part]
  /// The `part-number-marker` of the next page of parts; `nil` on the last one.
  public let nextMarker: String?

  /// Returns the body of `CompleteMultipartUpload`.
  public static func completion(of parts: [Part]) -> RequestBody {
    let list = parts.sorted { $0.number < $1.number }.map { part in
      let tag = part.eTag.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      return "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(tag)</ETag></Part>"
    }
    return .raw(
      "<CompleteMultipartUpload>\(list.joined())</CompleteMultipartUpload>", contentType: "application/xml")
  }
}

extension ModelDecoding where T == S3Upload, Payload == Data, Metadata == ResourceResponse {
  /// A decoding of `CreateMultipartUpload`.
  public static var s3Upload: Self {
    s3 { root in
      root["UploadId"].map { S3Upload(id: $0, parts: [], nextMarker: nil) }
    }
  }

  /// A decoding of `ListParts`, by which an upload is resumed. It fails if a part has no number or entity tag, or a page
  /// that is not the last one has no marker of the next.
  public static var s3Parts: Self {
    s3 { root in
      try root["UploadId"].map {
        S3Upload(
          id: $0, parts: try root.all("Part").map { try S3Upload.Part($0) },
          nextMarker: try root.nextPage("NextPartNumberMarker"))
      }
    }
  }
}
