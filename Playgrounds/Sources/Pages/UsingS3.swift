// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroSigning
import LastroTesting

private struct Role: Sendable {
  func credentials() async throws -> AWSCredentials {
    try AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "hidden-key")
  }
}

private struct NoETag: Error {}

private func configuration(_ role: Role) throws -> StackConfiguration {
  // sample: stack
  let bucket = "https://bucket.s3.eu-west-1.amazonaws.com"
  let signer = try AWSSigner(
    service: "s3", region: "eu-west-1", origins: [Origin(bucket)], payload: .unsigned
  ) { try await role.credentials() }
  var configuration = StackConfiguration(baseURL: bucket, interceptors: [signer, .retry])
  configuration.signers = [signer]
  // end
  return configuration
}

// sample: operations
extension HTTPResource where APIError == S3Error {
  init(
    _ method: HTTPRequest.Method, _ path: String, body: RequestBody = .empty,
    _ decoding: ModelDecoding<Model, Data, ResourceResponse>
  ) {
    let plain = RawHTTPResource.send(method, path, body: body)
    self.init(baseRequestMaking: plain.baseRequestMaking, decoding: decoding, errorDecoding: .s3)
  }
}
// end

private func objects(_ s3: some HTTPNetworkStack, path: String, name: String) async throws {
  // sample: objects
  var token: String?
  repeat {
    let next = token.map { "&continuation-token=\($0.pathSegment)" } ?? ""
    let page = try await s3.fetch(HTTPResource(.get, "/?list-type=2&prefix=reports%2F\(next)", .s3Listing)).value
    for object in page.objects { print(object.key, object.size) }
    token = page.nextToken
  } while token != nil

  let file = try RequestBody.file(path: path, contentType: "application/pdf")
  _ = try await s3.fetch(HTTPResource(.put, "/reports/\(name.pathSegment)", body: file, .empty))
  _ = try await s3.fetch(HTTPResource(.delete, "/reports/\(name.pathSegment)", .empty))
  // end
}

private func parts(
  _ s3: some HTTPNetworkStack, key: String, path: String, size: Int64, partSize: Int64, count: Int
) async throws {
  // sample: parts
  let id = try await s3.fetch(HTTPResource(.post, "\(key)?uploads", .s3Upload)).value.id
  var parts = try await s3.fetch(HTTPResource(.get, "\(key)?uploadId=\(id.pathSegment)", .s3Parts)).value.parts
  for number in 1...count where !parts.contains(where: { $0.number == number }) {
    let offset = Int64(number - 1) * partSize
    let body = try RequestBody.file(path: path, offset: offset, length: min(partSize, size - offset))
    let target = "\(key)?partNumber=\(number)&uploadId=\(id.pathSegment)"
    let response = try await s3.fetch(HTTPResource(.put, target, body: body, .empty)).response
    guard let eTag = response.headers["ETag"] else { throw NoETag() }
    parts.append(S3Upload.Part(number: number, eTag: eTag))
  }
  _ = try await s3.fetch(
    HTTPResource(
      .post, "\(key)?uploadId=\(id.pathSegment)", body: S3Upload.completion(of: parts), .s3Completion))
  // end
}

private func failures(
  _ s3: some HTTPNetworkStack, _ completion: HTTPResource<NoContent, S3Error>
) async throws(HTTPFetchError<S3Error>) {
  // sample: errors
  do throws(HTTPFetchError<S3Error>) {
    _ = try await s3.fetch(completion)
  } catch {
    guard let reason = error.apiError else { throw error }
    print(reason.code, reason.mayPass ? "try again later" : "give up", error.statusCode?.code ?? 0)
  }
  // end
}

extension Page {
  static let usingS3 = Page("UsingS3") { stage in
    let path = FileManager.default.temporaryDirectory.appending(path: "s3-\(UInt64.random(in: 0 ... .max))").path
    try Data("0123456789".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let tag: HTTPFields = [.eTag: "\"e\""]
    let transport = ScriptedTransport([
      .respond(
        status: .ok,
        body: "<ListBucketResult><Contents><Key>reports/a</Key><Size>1</Size></Contents><IsTruncated>true</IsTruncated>"
          + "<NextContinuationToken>t/1</NextContinuationToken></ListBucketResult>"),
      .respond(status: .ok, body: "<ListBucketResult/>"), .respond(status: .ok), .respond(status: .noContent),
      .respond(
        status: .ok, body: "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"),
      .respond(
        status: .ok,
        body: "<ListPartsResult><UploadId>u</UploadId><Part><PartNumber>1</PartNumber><ETag>\"e\"</ETag></Part>"
          + "</ListPartsResult>"), .respond(status: .ok, headers: tag), .respond(status: .ok, headers: tag),
      .respond(status: .ok, body: "<CompleteMultipartUploadResult/>"),
      .respond(status: .ok, body: "<Error><Code>InternalError</Code></Error>"),
    ])
    let s3 = TransportNetworkStack(transport: transport, configuration: try configuration(Role()))
    try await objects(s3, path: path, name: "a b")
    try await parts(s3, key: "/big", path: path, size: 10, partSize: 4, count: 3)
    try await failures(s3, HTTPResource(.post, "/big?uploadId=u", .s3Completion))
    let sent = transport.requests.map { "\($0.head.method) \($0.head.path ?? "")" }
    for line in sent { say(line) }
    stage.check("the second page has the token", sent[1].hasSuffix("&continuation-token=t%2F1"))
    stage.check(
      "the missing parts are sent",
      sent[6...7] == ["PUT /big?partNumber=2&uploadId=u", "PUT /big?partNumber=3&uploadId=u"])
    stage.check(
      "every request is signed",
      transport.requests.allSatisfy { $0.head.headerFields[.authorization]?.contains("/eu-west-1/s3/") == true })
  }
}
