// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting

/// Returns a stack whose tus server accepts all data, and reports `held` as the current offset of an upload.
private func server(holding held: Int) -> TransportNetworkStack {
  let transport = ScriptedTransport { (request, _) throws(TransportError) in
    var head = HTTPResponse(status: .noContent)
    switch request.head.method {
    case .post:
      head.status = .created
      head.headerFields[.location] = "/files/1"
    case .head:
      head.status = .ok
      head.headerFields[offset] = "\(held)"
    default: head.headerFields[offset] = "10"
    }
    return TransferResponse(head: head, body: ResponseBody(Data()))
  }
  return TransportNetworkStack(transport: transport)
}

// The literal is a valid field name, so unwrapping it cannot fail.
// swift-format-ignore: NeverForceUnwrap
private let offset = HTTPField.Name("Upload-Offset")!

private func upload(
  _ stack: any HTTPNetworkStack, _ path: String, _ keep: @escaping @Sendable (UploadToken) -> Void
) async throws {
  // sample: upload
  var options = UploadOptions()
  options.metadata = ["filename": "a.mov"]
  options.onToken = { token in keep(token) }
  let upload = try await stack.upload(file: path, to: .get("https://example.org/files"), options: options)
  print(upload.url ?? "no upload was created")
  // end
}

private func resumed(_ stack: any HTTPNetworkStack, _ token: UploadToken, _ path: String) async throws {
  // sample: resumed
  let upload = try await stack.upload(file: path, to: .get("https://example.org/files"), resuming: token)
  print(upload.response.status.code)
  // end
}

extension Page {
  static let uploads = Page("Uploads") { stage in
    let file = FileManager.default.temporaryDirectory.appending(path: "lastro-page-\(UInt64.random(in: .min ... .max))")
    try Data("0123456789".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let (tokens, told) = AsyncStream.makeStream(of: UploadToken.self)
    try await stage.prints("upload") {
      try await upload(server(holding: 0), file.path) { token in told.yield(token) }
    }
    told.finish()
    for await token in tokens {
      try await stage.prints("resumed") { try await resumed(server(holding: 4), token, file.path) }
    }
  }
}
