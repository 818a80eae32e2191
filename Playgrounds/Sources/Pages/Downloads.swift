// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting

/// Returns a stack whose server has a file of ten bytes, and cuts off its first response after six.
private func cutOnce() -> TransportNetworkStack {
  let whole = Data("0123456789".utf8)
  let transport = ScriptedTransport { (request, number) throws(TransportError) in
    var head = HTTPResponse(status: .ok)
    head.headerFields = [.eTag: "\"1\"", .contentLength: "10"]
    guard number > 0 else { return TransferResponse(head: head, body: cutBody(whole.prefix(6))) }
    guard request.head.headerFields[.range] == "bytes=6-" else {
      return TransferResponse(head: head, body: ResponseBody(whole))
    }
    head.status = .partialContent
    head.headerFields[.contentRange] = "bytes 6-9/10"
    head.headerFields[.contentLength] = "4"
    return TransferResponse(head: head, body: ResponseBody(whole.suffix(4)))
  }
  return TransportNetworkStack(transport: transport)
}

/// The state of a body that is cut off after its first chunk.
private actor CutState {
  private var chunk: Data?
  init(_ chunk: Data) { self.chunk = chunk }
  func take() -> Data? {
    defer { chunk = nil }
    return chunk
  }
}

private func cutBody(_ chunk: Data) -> ResponseBody {
  let state = CutState(chunk)
  return ResponseBody(next: { () async throws(TransportError) -> Data? in
    if let chunk = await state.take() { return chunk }
    throw TransportError(stage: .response, code: .truncatedBody, message: "cut", requestSent: true)
  })
}

private func download(_ stack: any HTTPNetworkStack, _ path: String) async throws {
  // sample: download
  let file = try await stack.download(.get("https://example.org/image.iso"), to: path)
  print("\(file.length) bytes, of which \(file.resumedFrom) were there")
  // end
}

private func resumed(_ path: String) async throws {
  let stack = cutOnce()
  var impatient = DownloadOptions()
  impatient.retries = .maxRetries(0)
  // sample: resumed
  do {
    _ = try await stack.download(.get("https://example.org/image.iso"), to: path, options: impatient)
  } catch {
    print("\(error.stage)/\(error.code)")
  }
  let file = try await stack.download(.get("https://example.org/image.iso"), to: path)
  print("\(file.length) bytes, of which \(file.resumedFrom) were there")
  // end
}

private func digest(_ stack: any HTTPNetworkStack, _ path: String, _ hash: String) async throws {
  // sample: digest
  var options = DownloadOptions()
  options.sha256 = hash
  options.replaces = true
  let file = try await stack.download(.get("https://example.org/image.iso"), to: path, options: options)
  print(file.verified)
  // end
}

extension Page {
  static let downloads = Page("Downloads") { stage in
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "lastro-page-\(UInt64.random(in: .min ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let hash = try MessageDigest(of: Data("0123456789".utf8)).hexadecimal
    try await download(cutOnce(), folder.appending(path: "plain").path)
    try await digest(cutOnce(), folder.appending(path: "plain").path, hash)
    try await stage.prints("resumed") { try await resumed(folder.appending(path: "cut").path) }
  }
}
