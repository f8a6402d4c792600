# One request by .NET: a TcpClient, or HttpClient.
param([string]$how, [string]$url, [string]$name, [int]$port, [int]$limit = 0)
try {
    if ($how -eq 'http') {
        Add-Type -AssemblyName System.Net.Http
        $client = New-Object System.Net.Http.HttpClient
        if ($limit -gt 0) { $client.Timeout = [TimeSpan]::FromSeconds($limit) }
        $null = $client.GetStringAsync($url).GetAwaiter().GetResult()
        exit 0
    }
    $client = New-Object System.Net.Sockets.TcpClient
    if ($limit -gt 0) {
        if (-not $client.ConnectAsync($name, $port).Wait($limit * 1000)) { throw 'timeout' }
    } else {
        $client.Connect($name, $port)
    }
    $request = [Text.Encoding]::ASCII.GetBytes("HEAD / HTTP/1.0`r`n`r`n")
    $stream = $client.GetStream()
    $stream.Write($request, 0, $request.Length)
    if ($stream.ReadByte() -lt 0) { throw 'empty reply' }
} catch {
    $why = $_.Exception.GetBaseException()
    # The sentence is in the language of the system, the code is not.
    if ($why.SocketErrorCode) { [Console]::Error.WriteLine($why.SocketErrorCode) }
    [Console]::Error.WriteLine($why.Message)
    exit 1
}
