// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroTesting

/// Recipes for uploads and downloads.
enum FileRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    let api = recipes.api
    let photo = try recipes.file("a.jpg", "0123456789")
    await recipes.check("multipart", prints: ["201 multipart/form-data"]) { try await multipart(api, photo) }
    await recipes.check("upload", prints: ["10 bytes of text/plain"]) { try await upload(api, photo) }
    let tokens = EventRecorder<UploadToken>()
    await recipes.check("resumable upload", prints: ["https://api.example.org/uploads/1"]) {
      try await resumable(api, photo) { tokens.record($0) }
    }
    recipes.stage.check("its token is kept", !tokens.events.isEmpty)
    let path = "\(recipes.folder)/image.iso"
    transcript.removeAll()
    try await download(api, path)
    recipes.stage.check("download", transcript.removeAll().suffix(2) == ["100 %", "10 bytes"])
    let cut = "\(recipes.folder)/cut.iso"
    var once = DownloadOptions()
    once.retries = .maxRetries(0)
    _ = try? await api.download(.get("/cut.iso"), to: cut, options: once)
    await recipes.check("resume", prints: ["6 of 10 bytes were there"]) { try await resume(api, cut) }
    let hash = try MessageDigest(of: Data("0123456789".utf8)).hexadecimal
    await recipes.check("digest", prints: ["10 bytes, as expected"]) { try await digest(api, path, hash) }
  }

  private static func multipart(_ api: CurlNetworkStack, _ path: String) async throws {
    // sample: multipart
    var form = MultipartForm()
    form.add("title", "Lisbon")
    try form.add("photo", file: path, contentType: "image/jpeg")
    let answer = try await api.fetch(.send(.post, "/files", body: try .multipart(form)))
    // end
    let type = String(decoding: answer.value, as: UTF8.self).split(whereSeparator: { " ;".contains($0) })
    print(answer.response.status.code, type.first { $0.hasPrefix("multipart/") } ?? "")
  }

  private static func upload(_ api: CurlNetworkStack, _ path: String) async throws {
    // sample: upload
    let body = try RequestBody.file(path: path, contentType: "text/plain")
    let answer = try await api.fetch(.send(.put, "/files/notes.txt", body: body))
    print(String(decoding: answer.value, as: UTF8.self))
    // end
  }

  private static func resumable(
    _ api: CurlNetworkStack, _ path: String, _ keep: @escaping @Sendable (UploadToken) -> Void
  ) async throws {
    // sample: resumable upload
    var options = UploadOptions()
    options.onToken = { token in keep(token) }  // for upload(file:to:resuming:), after a crash
    let upload = try await api.upload(file: path, to: .get("/uploads"), options: options)
    print(upload.url ?? "no upload was created")
    // end
  }

  private static func download(_ api: CurlNetworkStack, _ path: String) async throws {
    // sample: download
    let file = try await api.download(.get("/image.iso"), to: path) { progress in
      print(Int(100 * (progress.fractionReceived ?? 0)), "%")
    }
    print(file.length, "bytes")
    // end
  }

  private static func resume(_ api: CurlNetworkStack, _ path: String) async throws {
    // sample: resume
    let file = try await api.download(.get("/cut.iso"), to: path)  // the same call as before
    print(file.resumedFrom, "of", file.length, "bytes were there")
    // end
  }

  private static func digest(_ api: CurlNetworkStack, _ path: String, _ hash: String) async throws {
    // sample: digest
    var options = DownloadOptions()
    options.sha256 = hash  // hexadecimal; a file that differs is never put in place
    options.replaces = true
    let file = try await api.download(.get("/image.iso"), to: path, options: options)
    print(file.length, "bytes, as expected")
    // end
  }
}
